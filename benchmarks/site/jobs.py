"""The functions that both sides call. A worker of the bench finds them by their dotted path."""

from __future__ import annotations

from functools import cache

from benchmarks.stamps import Stamps
from benchmarks.tally import Tally

tally = cache(Tally.inherited)
stamps = cache(Stamps.inherited)

NOOP = "benchmarks.site.jobs.noop"
STAMP = "benchmarks.site.jobs.stamp"
NOTE = "benchmarks.site.jobs.note"


def noop() -> None:
    tally().hit()


def stamp(slot: int) -> None:
    stamps().set(slot)


def note(number: int) -> None:
    """For the rate of enqueueing; it is never run."""
