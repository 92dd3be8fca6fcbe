"""A worker as a real process of the operating system, whose output is kept for when it fails."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

_STOP_SECONDS = 10
_OUTPUT_SHOWN = 4000


class WorkerFailed(Exception):
    """A worker process ended by itself or made no progress."""


class Worker:
    """One running worker process."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, env={**os.environ, **environment}, stdout=output, stderr=output, start_new_session=True
            )

    def wait_until(self, reached: Callable[[], object], poll_seconds: float, stalled: Callable[[], float]) -> None:
        """Wait for a condition, for as long as `stalled` (seconds left before giving up) is positive."""
        while not reached():
            if self._process.poll() is not None and not reached():
                raise WorkerFailed(f"the worker ended with code {self._process.returncode}\n{self.output()}")
            if stalled() <= 0:
                raise WorkerFailed(f"the worker made no progress\n{self.output()}")
            sleep(poll_seconds)

    def output(self) -> str:
        return self._log.read_text(errors="replace")[-_OUTPUT_SHOWN:]

    def stop(self) -> None:
        """Ask, wait, then insist: nothing of a round may run on into the next."""
        for number in (signal.SIGINT, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                break
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                continue


@contextmanager
def worker(command: list[str], environment: dict[str, str], log: Path) -> Iterator[Worker]:
    running = Worker(command, environment, log)
    try:
        yield running
    finally:
        running.stop()


def progress_limit(progress: Callable[[], object], seconds: float) -> Callable[[], float]:
    """Seconds left until `progress` has stood still for too long."""
    seen, since = progress(), monotonic()

    def left() -> float:
        nonlocal seen, since
        now = progress()
        if now != seen:
            seen, since = now, monotonic()
        return seconds - (monotonic() - since)

    return left
