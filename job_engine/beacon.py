"""What a worker process is doing now, in a few bytes of shared memory that its supervisor can read at any time.

The supervisor must know even when the worker cannot answer: a handler may block in C and hold the interpreter's lock.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from job_engine.core.errors import Interrupt, JobCanceled, JobLeaseLost, JobTimeout, WorkerStopping

_RUNNING = "qd140p"  # attempt, deadline (0: none), name
_DOOM = "dBq28p"  # when to kill, why, which attempt of which job
_CONDEMNED_AT = 192
_SIZE = 256
_LAYOUT = struct.Struct(f"<{_RUNNING}")
_CONDEMNED = struct.Struct(f"<{_DOOM}")
_WHOLE = struct.Struct(f"<{_RUNNING}{_CONDEMNED_AT - _LAYOUT.size}x{_DOOM}")
_WHY: tuple[type[Interrupt], ...] = (JobTimeout, JobCanceled, WorkerStopping, JobLeaseLost)
# A guard reads the same memory without importing this module.
LAYOUT_FOR_GUARDS = (_LAYOUT.format, _CONDEMNED.format, str(_CONDEMNED_AT), ",".join(why.__name__ for why in _WHY))


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at a beacon. Times are those of time.monotonic(), which all processes of a machine share."""

    name: str
    attempt: int
    deadline: float | None
    kill_at: float | None
    why: type[Interrupt] | None


class Beacon:
    """The memory is a file without a name, handed to the worker as an open descriptor: a crash leaves nothing behind."""

    def __init__(self, descriptor: int):
        self._memory = mmap.mmap(descriptor, _SIZE)

    @staticmethod
    @contextmanager
    def memory() -> Iterator[int]:
        """The descriptor of a new, dark beacon's memory, open until the worker has inherited it."""
        with _file_without_a_name() as file:
            file.write(bytes(_SIZE))
            file.flush()
            yield file.fileno()

    def show(self, name: str, attempt: int, deadline: float | None) -> None:
        _WHOLE.pack_into(self._memory, 0, attempt, deadline or 0.0, name.encode(), 0.0, 0, 0, b"")

    def hide(self) -> None:
        self.show("", 0, None)

    def condemn(self, name: str, attempt: int, why: Interrupt, kill_at: float) -> None:
        """Ask to be killed then, if this very attempt still runs."""
        _CONDEMNED.pack_into(
            self._memory, _CONDEMNED_AT, kill_at, _WHY.index(type(why)) + 1, attempt, name.encode()[-26:]
        )

    def look(self) -> Seen | None:
        """What the worker does, or None when it does nothing. Read twice: a write may be half done."""
        while True:
            first = self._memory[:]
            if first == self._memory[:]:
                break
        attempt, deadline, name = _LAYOUT.unpack_from(first, 0)
        if not name:
            return None
        kill_at, why, condemned_attempt, condemned = _CONDEMNED.unpack_from(first, _CONDEMNED_AT)
        if (condemned, condemned_attempt) != (name[-26:], attempt):  # that was an earlier one, and it has ended
            kill_at, why = 0.0, 0
        return Seen(name.decode(), attempt, deadline or None, kill_at or None, _WHY[why - 1] if why else None)

    def close(self) -> None:
        self._memory.close()


def _file_without_a_name() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("job-engine-beacon"), "w+b")
    return tempfile.TemporaryFile()
