"""The no-op job of the rq worker, which names it by its import path."""

from __future__ import annotations

from functools import cache

from benchmarks.tally import Tally

#: Opened once, before the worker forks: the forks share the memory.
tally = cache(Tally.inherited)


def noop() -> None:
    tally().hit()
