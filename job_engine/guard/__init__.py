"""A small process beside a worker that has no supervisor: it kills one that hangs, and has settled what a dead one held."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from job_engine.beacon import LAYOUT_FOR_GUARDS, Beacon

FAREWELL = b"farewell\n"


class Guard:
    """The worker's end of it. Use it as a context: leaving in order says farewell.

    The process is started by whoever is about to call a handler, once. Until then there is only the beacon: a worker that finds
    nothing to do has no guard, and nothing competes for the processor with what comes before the first handler.
    """

    def __init__(self, grace_seconds: float, settle: list[str], details: dict[str, str]):
        """`settle` is the command that is run after a death; it is told the details and what happened on standard input."""
        self._grace_seconds = grace_seconds
        self._settle = settle
        self._details = details
        self._lifeline: BinaryIO | None = None

    def __enter__(self) -> Guard:
        self._memory = ExitStack()
        self._descriptor = self._memory.enter_context(Beacon.memory())
        self.beacon = Beacon(self._descriptor)
        return self

    def start(self) -> None:
        if self._lifeline is None:
            command = [sys.executable, "-S", "-E", str(Path(__file__).with_name("process.py"))]
            orders = [str(os.getpid()), str(self._descriptor), str(self._grace_seconds), *LAYOUT_FOR_GUARDS]
            self._lifeline = _spawn([*command, *orders, *self._settle], self._descriptor)
            self._lifeline.write(json.dumps(self._details).encode() + b"\n")
            self._lifeline.flush()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Even after an error: whoever comes here has given back what it held. Nobody waits for the guard's own end."""
        if self._lifeline is not None:
            try:
                self._lifeline.write(FAREWELL)
                self._lifeline.close()
            except OSError:
                pass  # the guard has died: then it is leases that do its work
        self.beacon.close()
        self._memory.close()


def _spawn(command: list[str], descriptor: int) -> BinaryIO:
    """Start the process and return its standard input. By posix_spawn: the worker stands still meanwhile, and with subprocess
    it would for longer.

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
