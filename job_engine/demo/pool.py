"""The demo's side of its workers: start them, kill one of them, stop them all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from job_engine.core.errors import JobEngineError
from job_engine.demo.workers import SETTINGS

PATIENCE: float = SETTINGS["grace_seconds"] + 3.0  # seconds, for an orderly end


class Pool:
    """A supervisor with its workers, in a session of their own: Ctrl-C reaches the demo alone, which then stops them."""

    def __init__(self, url: str, processes: int, log: IO[str]):
        self._supervisor = subprocess.Popen(
            [sys.executable, "-m", "job_engine.demo.workers", url, str(processes)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )

    def check(self) -> None:
        code = self._supervisor.poll()
        if code is not None:
            raise JobEngineError(f"The demo's workers ended too early, with code {code}.")

    def kill_worker(self, pid: int) -> None:
        """kill -9, as the system does when memory is short. Only what is ours: a process id may be reused."""
        if parent_of(pid) != self._supervisor.pid:
            raise JobEngineError(
                f"Process {pid} is not a worker of this demo and was left alone. Does another worker use its database?"
            )
        os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """As an operator would: ask, ask again, and make an end. Without their supervisor, workers stop by themselves."""
        for request in (self._supervisor.terminate, self._supervisor.terminate, self._supervisor.kill):
            if self._supervisor.poll() is not None:
                break
            request()
            try:
                self._supervisor.wait(PATIENCE)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                continue  # no patience left: on to the next step
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()


def parent_of(pid: int) -> int | None:
    """The process that started this one; None: there is no such process."""
    status = Path(f"/proc/{pid}/stat")
    try:
        if Path("/proc/self/stat").exists():
            return int(status.read_text().rpartition(")")[2].split()[1])  # behind the name, which may contain anything
        return int(subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True).stdout)
    except (OSError, ValueError):
        return None
