"""A room of many jobs: it hears of some singly and of the others in numbers, so that a flood of jobs is none of messages."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from job_engine.core.states import Status

SINGLY_PER_SECOND = 20  # from one process
NUMBERS_SECONDS = 0.25  # between two messages with numbers


class Crowd:
    """What one room has heard lately, and what it is still to hear."""

    __slots__ = ("_at", "_held_back", "_second", "_singly", "_told_at")

    def __init__(self) -> None:
        self._second = 0  # in which so many were told of singly
        self._singly = 0
        self._held_back: Counter[Status | None] = Counter()
        self._at: datetime | None = None  # of the last one that was held back
        self._told_at = 0.0

    def admits(self, status: Status, at: datetime, now: float) -> bool:
        """Whether one more may be told of singly. If not, it is counted."""
        if int(now) != self._second:
            self._second, self._singly = int(now), 0
        if self._singly < SINGLY_PER_SECOND:
            self._singly += 1
            return True
        self.count(status, at)
        return False

    def count(self, status: Status | None, at: datetime) -> None:
        """`None`: the room is not to hear what became of it."""
        self._held_back[status] += 1
        self._at = at

    @property
    def holds_back(self) -> bool:
        return bool(self._held_back)

    def take_numbers(self, now: float, at_once: bool = False) -> dict[str, Any] | None:
        """What was held back, when it is time to tell it."""
        if not self._held_back or (now - self._told_at < NUMBERS_SECONDS and not at_once):
            return None
        self._told_at = now
        held_back, self._held_back = self._held_back, Counter()
        numbers: dict[str, Any] = {"jobs": sum(held_back.values()), "at": self._at and self._at.isoformat()}
        statuses = {str(status): n for status, n in held_back.items() if status is not None}
        return {**numbers, "statuses": statuses} if statuses else numbers
