"""A database server of a test's own, which it may stop and start without harm to other tests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from job_engine.tests.acceptance.fleet import all_pids, is_alive, kill, parent_of
from job_engine.tests.acceptance.waiting import until

_SCRIPT = Path(__file__).parents[3] / "scripts" / "services"


class OwnServer:
    def __init__(self, kind: str, folder: Path):
        self._kind, self._folder = kind, folder
        self._variable = f"JOB_ENGINE_TEST_{kind.upper()}"

    @property
    def url(self) -> str:
        return self._call("env").partition("=")[2].strip()

    def start(self) -> None:
        self._call("start")

    def stop(self) -> None:
        self._call("stop")

    def kill(self) -> None:
        """With SIGKILL, every process of it: none can finish, flush or say anything any more."""
        pid = re.search(r"pid (\d+)", self._call("status"))
        assert pid is not None
        server = int(pid[1])
        kill(server, signal.SIGSTOP)  # so that it neither starts other processes meanwhile nor tells them anything
        processes = [*(child for child in all_pids() if parent_of(child) == server), server]
        for process in processes:
            kill(process, signal.SIGKILL)
        until(lambda: not any(map(is_alive, processes)), "the killed server to end")
        # Where there is no init to collect the dead, PostgreSQL takes the process that its lock file names for a living one.
        (self._folder / self._kind / "data" / "postmaster.pid").unlink(missing_ok=True)

    def is_installed(self) -> bool:
        return _SCRIPT.exists() and "not installed" not in self._call("status", check=False)

    def _call(self, command: str, check: bool = True) -> str:
        """The script with no server named in its environment: it would leave that service alone."""
        environment = {k: v for k, v in os.environ.items() if k != self._variable}
        environment["JOB_ENGINE_SERVICES_DIR"] = str(self._folder)
        done = subprocess.run(
            [_SCRIPT, command, self._kind], env=environment, stdout=subprocess.PIPE, text=True, check=check
        )
        return done.stdout


@contextmanager
def own_server(kind: str) -> Iterator[OwnServer]:
    """Started, and gone with its data afterwards. Nothing is installed for it."""
    folder = Path(tempfile.mkdtemp(prefix=f"job-engine-{kind}-"))
    folder.chmod(0o755)  # the server runs as an account of its own
    server = OwnServer(kind, folder)
    try:
        if not server.is_installed():
            pytest.skip(f"needs a {kind} on this machine that a test may stop; the one given is elsewhere")
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
