"""Numbers that single jobs leave for the measuring process, each in a slot of its own: a time, or a count."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from time import monotonic

ENVIRONMENT = "JOB_ENGINE_BENCHMARK_STAMPS"


class Stamps:
    """Slots in a memory-mapped file; a slot that nobody has set is None."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR)
        try:
            self._numbers = memoryview(mmap.mmap(descriptor, 0)).cast("d")
        finally:
            os.close(descriptor)

    @classmethod
    def create(cls, path: Path, slots: int) -> Stamps:
        path.write_bytes(bytes(8 * slots))
        stamps = cls(path)
        for slot in range(slots):
            stamps._numbers[slot] = -1.0
        return stamps

    @classmethod
    def inherited(cls) -> Stamps:
        """The stamps that the measuring process named in this worker's environment."""
        return cls(Path(os.environ[ENVIRONMENT]))

    def set(self, slot: int, value: float | None = None) -> None:
        self._numbers[slot] = monotonic() if value is None else value

    def get(self, slot: int) -> float | None:
        value = self._numbers[slot]
        return None if value < 0 else value
