"""The job types of the benchmarks: what a worker is started with, as `--app benchmarks.ours.app`."""

from __future__ import annotations

from functools import cache

from benchmarks.stamps import Stamps
from benchmarks.tally import Tally
from job_engine import job

tally = cache(Tally.inherited)
stamps = cache(Stamps.inherited)


@job("noop", dedup_window=0)
def noop() -> None:
    tally().hit()


@job("stamp", dedup_window=0)
def stamp(slot: int) -> None:
    stamps().set(slot)


@job("foreign", dedup_window=0)
def foreign(slot: int) -> None:
    """A job of another organization: notes how many of the flood had started before it."""
    stamps().set(slot, tally().count)


@job("note")
def note(number: int) -> None:
    """With the default policy, duplicates checked: for the rate of enqueueing."""
