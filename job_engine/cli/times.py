"""Times as people write and read them: 90s, 10m, 2h, 30d; ISO 8601; "5 min"."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from job_engine.core.clock import utc

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_DURATION = re.compile(rf"(?:{_PART.pattern}\s*)+")
_LONGEST = 100 * 366 * 86400.0


def parse_duration(text: str) -> timedelta:
    """`90s`, `10m`, `1h30m`, `30d`. A bare number says nothing about its unit and is refused."""
    cleaned = text.strip().lower()
    if not _DURATION.fullmatch(cleaned):
        raise ValueError(f"{text!r} is not a duration. Write a number and a unit, such as 90s, 10m, 2h or 30d.")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(cleaned))
    if seconds > _LONGEST:
        raise ValueError(f"{text!r} is longer than a hundred years.")
    return timedelta(seconds=seconds)


def parse_moment(text: str) -> datetime | timedelta:
    """A time, or a wait from now: `+10m`, `90s`, `2026-01-31T08:00+01:00`. A time without a zone is UTC."""
    cleaned = text.strip()
    if _DURATION.fullmatch(cleaned.lstrip("+").lower()):
        return parse_duration(cleaned.lstrip("+"))
    try:
        # Python 3.10 does not read the Z that most programs write.
        return utc(datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", cleaned)))
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is no time. Write a wait such as +10m, 90s or 2h, or a time such as 2026-01-31T08:00+01:00 "
            "(without a zone it is UTC)."
        ) from None


def duration_text(seconds: float | None) -> str:
    """For people: the largest unit that fits, roughly."""
    if seconds is None:
        return ""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size or (seconds >= size and seconds % size == 0):
            return f"{seconds / size:.4g} {unit}" if seconds % size == 0 else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.3g} s"


def age_text(seconds: float) -> str:
    """Whole units: nobody cares about the milliseconds of an age."""
    return duration_text(float(int(seconds))) if seconds >= 1 else "0 s"


def time_text(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"
