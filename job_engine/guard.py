"""A small process beside a worker that has no supervisor: it kills a worker that hangs, and has settled what a dead one held.

`python -m job_engine.guard`, its orders on standard input, which stays open as a lifeline: when it ends without a farewell,
the worker has died. It imports next to nothing, because every runner on a bench starts one; what it finds is settled by
another command, which may take its time.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from types import TracebackType

from job_engine.beacon import Beacon, Seen

LOOK_SECONDS = 0.25
SLACK_SECONDS = 0.5
FAREWELL = b"farewell\n"


@dataclass(frozen=True, slots=True)
class Orders:
    worker_id: str
    pid: int
    beacon: int  # an open file descriptor
    grace_seconds: float
    settle: list[str]  # the command that settles; it is told what happened on standard input
    details: dict[str, str]  # for that command


class Guard:
    """The worker's end of it. Use it as a context: leaving in order says farewell."""

    def __init__(self, worker_id: str, grace_seconds: float, settle: list[str], details: dict[str, str]):
        with Beacon.memory() as descriptor:
            self.beacon = Beacon(descriptor)
            orders = Orders(worker_id, os.getpid(), descriptor, grace_seconds, settle, details)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "job_engine.guard"],
                stdin=subprocess.PIPE,
                pass_fds=[descriptor],
                start_new_session=True,  # what ends the worker and its children must not end its guard
            )
        assert self._process.stdin is not None
        self._lifeline = self._process.stdin
        self._lifeline.write(json.dumps(asdict(orders)).encode() + b"\n")
        self._lifeline.flush()

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Even after an error: whoever comes here has given back what it held."""
        try:
            self._lifeline.write(FAREWELL)
            self._lifeline.close()
        except OSError:
            pass  # the guard has died: its work is done by leases
        self._process.wait(timeout=5)
        self.beacon.close()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its worker, not with a terminal
    line = _read_line()
    if not line:
        return
    orders = Orders(**json.loads(line))
    beacon = Beacon(orders.beacon)
    why = _watch(beacon, orders)
    if why is not None:
        _settle(orders, beacon.look(), why)


def _watch(beacon: Beacon, orders: Orders) -> str | None:
    """Wait for the worker's end. Returns what became of it; None when it left in order."""
    why = ""
    while True:
        if select.select([0], [], [], LOOK_SECONDS)[0]:
            return None if os.read(0, len(FAREWELL)) == FAREWELL else why
        verdict = _verdict(beacon.look(), orders.grace_seconds, time.monotonic())
        if verdict is not None and not why:
            why = verdict
            os.kill(orders.pid, signal.SIGKILL)


def _verdict(seen: Seen | None, grace_seconds: float, now: float) -> str | None:
    """Why the worker must be killed now."""
    if seen is None:
        return None
    if seen.kill_at is not None and seen.why is not None and now > seen.kill_at + SLACK_SECONDS:
        return seen.why.__name__
    # A handler that keeps the interpreter's lock also keeps the worker's own keeper from judging it.
    if seen.deadline is not None and now > seen.deadline + grace_seconds + SLACK_SECONDS:
        return "JobTimeout"
    return None


def _settle(orders: Orders, seen: Seen | None, why: str) -> None:
    told = {
        **orders.details,
        "worker_id": orders.worker_id,
        "job": seen.name if seen else None,
        "attempt": seen.attempt if seen else 0,
        "why": why,
    }
    subprocess.run(orders.settle, input=json.dumps(told).encode(), check=False)


def _read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return b""
        line += byte
    return line


if __name__ == "__main__":
    main()
