"""What time it is. In production the database says so: a worker's own wall clock is never trusted."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

Clock = Callable[[], datetime]

# Counts on while a machine is suspended, where the platform has such a clock.
_ELAPSED = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def utc(value: datetime) -> datetime:
    """The same instant in UTC. A naive value is taken as UTC."""
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)


class DatabaseClock:
    """The database's time, asked for now and then and counted on from there.

    Asking for every statement would be a round trip for each; the elapsed-time clock of any machine is good for the
    seconds in between, however wrong its idea of the date is.
    """

    def __init__(self, ask: Callable[[], datetime], every_seconds: float = 15.0):
        self._ask = ask
        self._every = every_seconds
        self._base: tuple[datetime, float] | None = None

    def __call__(self) -> datetime:
        elapsed = time.clock_gettime(_ELAPSED)
        if self._base is None or elapsed - self._base[1] > self._every:
            self.told(self._ask())
            assert self._base is not None
            elapsed = self._base[1]
        return self._base[0] + timedelta(seconds=elapsed - self._base[1])

    def told(self, now: datetime) -> None:
        """Count on from here: the database has just said so, maybe with the answer to another question."""
        self._base = (utc(now), time.clock_gettime(_ELAPSED))
