"""The functions that both sides call."""

from __future__ import annotations

from functools import cache

from benchmarks.stamps import Stamps
from benchmarks.tally import Tally

tally = cache(Tally.inherited)
stamps = cache(Stamps.inherited)


def noop() -> None:
    tally().hit()


def stamp(slot: int) -> None:
    stamps().set(slot)


def note(number: int) -> None:
    """For the rate of enqueueing; it is never run."""
