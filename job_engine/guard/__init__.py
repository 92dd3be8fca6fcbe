"""A small process beside a worker that has no supervisor: it kills one that hangs, and has settled what a dead one held."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from job_engine.beacon import LAYOUT_FOR_GUARDS, Beacon

FAREWELL = b"farewell\n"


class Guard:
    """The worker's end of it. Use it as a context: leaving in order says farewell."""

    def __init__(self, grace_seconds: float, settle: list[str], details: dict[str, str]):
        """`settle` is the command that is run after a death; it is told the details and what happened on standard input."""
        with Beacon.memory() as descriptor:
            self.beacon = Beacon(descriptor)
            orders = [str(os.getpid()), str(descriptor), str(grace_seconds), *LAYOUT_FOR_GUARDS, *settle]
            self._lifeline = _spawn(
                [sys.executable, "-S", "-E", str(Path(__file__).with_name("process.py")), *orders], descriptor
            )
        self._lifeline.write(json.dumps(details).encode() + b"\n")
        self._lifeline.flush()

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Even after an error: whoever comes here has given back what it held. Nobody waits for the guard's own end."""
        try:
            self._lifeline.write(FAREWELL)
            self._lifeline.close()
        except OSError:
            pass  # the guard has died: then it is leases that do its work
        self.beacon.close()


def _spawn(command: list[str], descriptor: int) -> BinaryIO:
    """Start the guard and return its standard input. By posix_spawn: a runner's first job waits for it, and for subprocess it
    would wait three times as long.

    In a session of its own: what ends the worker and its children must not end its guard.
    """
    theirs, ours = os.pipe()
    os.set_inheritable(descriptor, True)
    try:
        os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 0)], setsid=True)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
        os.set_inheritable(descriptor, False)
    return os.fdopen(ours, "wb")
