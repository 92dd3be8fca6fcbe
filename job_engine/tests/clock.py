"""Time as an argument: a clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

START = datetime(2026, 1, 1, 12, 0, tzinfo=timezone.utc)


class FrozenClock:
    """Call it for the current time; `Engine.open(url, clock=FrozenClock())`."""

    def __init__(self, now: datetime = START):
        if now.tzinfo is None:
            raise ValueError("FrozenClock needs a time with a time zone")
        self.now = now.astimezone(timezone.utc)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> datetime:
        """Move on (or back, when negative) and tell the new time."""
        self.now += timedelta(seconds=seconds)
        return self.now

    def __repr__(self) -> str:
        return f"FrozenClock({self.now.isoformat()})"
