"""What the no-op handler of every contender does: count its calls and note when they happened.

Three numbers in a memory-mapped file, shared by the worker process and the one that measures. A call costs well under a
microsecond and no system call but the clock, so that it weighs the same, next to nothing, on every contender. The clock is
`time.monotonic`, which on Linux is one clock for all processes.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from time import monotonic

ENVIRONMENT = "JOB_ENGINE_BENCHMARK_TALLY"

_COUNT, _FIRST, _LAST = range(3)
_SIZE = 3 * 8


class Tally:
    """Calls counted, and the times of the first and of the last."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR)
        try:
            self._numbers = memoryview(mmap.mmap(descriptor, _SIZE)).cast("d")
        finally:
            os.close(descriptor)

    @classmethod
    def create(cls, path: Path) -> Tally:
        """A tally at zero, in a new file."""
        path.write_bytes(bytes(_SIZE))
        return cls(path)

    @classmethod
    def inherited(cls) -> Tally:
        """The tally that the measuring process named in this worker's environment."""
        return cls(Path(os.environ[ENVIRONMENT]))

    def hit(self) -> None:
        """Count one call. One worker process runs one job at a time, so there is nothing to lock."""
        now = monotonic()
        numbers = self._numbers
        if not numbers[_COUNT]:
            numbers[_FIRST] = now
        numbers[_LAST] = now
        numbers[_COUNT] += 1

    @property
    def count(self) -> int:
        return int(self._numbers[_COUNT])

    @property
    def first(self) -> float:
        return self._numbers[_FIRST]

    @property
    def last(self) -> float:
        return self._numbers[_LAST]
