"""Real worker processes: start pools, look at them, signal them, and leave none behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from job_engine.tests.acceptance import handlers
from job_engine.tests.acceptance.folder import VARIABLE, Folder
from job_engine.tests.acceptance.waiting import until


class Pool:
    """One supervisor and the workers it keeps."""

    def __init__(
        self, url: str, folder: Folder, number: int, processes: int, settings: dict[str, Any], poll: float | None
    ):
        self.processes = processes
        self.log_file = folder.path / f"pool-{number}.log"
        command = [sys.executable, "-m", "job_engine.cli", "--app", handlers.__name__]
        command += [f"--setting={name}={value}" for name, value in settings.items()]
        command += ["work", f"--processes={processes}", "--log-format=json"]
        command += [] if poll is None else [f"--poll={poll}"]
        environment = {
            **os.environ,
            VARIABLE: str(folder.path),
            "JOB_ENGINE_DB": url,  # not an argument: a URL may contain a password
            "TMPDIR": str(folder.path),  # a supervisor that is killed cannot remove what it made
        }
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, env=environment)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def workers(self) -> list[int]:
        """The worker processes that are alive now."""
        return [pid for pid in all_pids() if parent_of(pid) == self.pid and is_alive(pid)]

    def ready(self) -> Pool:
        """Wait until all workers claim: a signal that comes earlier meets a process that does not listen yet."""
        until(lambda: len(self.said("worker_started")) >= self.processes, f"{self.processes} workers to start")
        return self

    def log(self) -> list[dict[str, Any]]:
        lines = self.log_file.read_text(errors="replace").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def said(self, action: str) -> list[dict[str, Any]]:
        return [line for line in self.log() if line.get("action") == action]

    def crashes(self) -> list[str]:
        """What Python printed by itself: an exception that nobody caught."""
        return [line for line in self.log_file.read_text(errors="replace").splitlines() if line.startswith("Traceback")]

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def terminate(self) -> None:
        self.signal(signal.SIGTERM)

    def kill(self) -> None:
        """The supervisor alone; its workers have to notice."""
        self.signal(signal.SIGKILL)
        self._process.wait()

    def exit_code(self) -> int:
        """Wait until the supervisor has ended."""
        until(lambda: not self.is_alive, "the supervisor to end")
        return self._process.returncode


class Fleet:
    def __init__(self, url: str, folder: Folder, settings: dict[str, Any]):
        self._url, self._folder, self._settings = url, folder, settings
        self.pools: list[Pool] = []

    def start(self, processes: int = 1, poll: float | None = None, **settings: Any) -> Pool:
        number = len(self.pools) + 1
        pool = Pool(self._url, self._folder, number, processes, {**self._settings, **settings}, poll)
        self.pools.append(pool)
        return pool

    def processes(self) -> list[int]:
        """Every process of this test that is alive, also one whose supervisor is gone."""
        mark = f"{VARIABLE}={self._folder.path}".encode()
        return [pid for pid in all_pids() if mark in _environment(pid).split(b"\0") and is_alive(pid)]

    def close(self) -> None:
        """Kill whatever is left and show what it has said, should the test have failed."""
        while left := self.processes():
            for pid in left:
                kill(pid, signal.SIGKILL)
            until(lambda left=left: not any(map(is_alive, left)), "killed processes to end")
        for pool in self.pools:
            pool.exit_code()
            print(f"--- {pool.log_file.name}\n{pool.log_file.read_text(errors='replace')}")


def all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def is_alive(pid: int) -> bool:
    """A zombie has ended; it only waits to be collected."""
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def is_frozen(pid: int) -> bool:
    return _stat(pid)[:1] == ["T"]


def parent_of(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def cpu_seconds(pid: int) -> float:
    """User and system time so far."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it ended by itself in the meantime


def pid_of(worker_id: str) -> int:
    """A worker's id tells its process."""
    return int(worker_id.split(":")[1])


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the command's name, which may itself contain anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # ended, or somebody else's
        return b""
