"""Rounds: the contenders take turns, so that a slow minute of the machine is a slow minute for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.contender import Contender
from benchmarks.drain import drain

_TRIES = 2

#: Makes a contender with storage of its own, in a folder that is deleted after the round.
Make = Callable[[Path], Contender]


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    jobs: int
    rounds: int
    samples: int
    history: int
    flood: int
    console: Console

    def jobs_for(self, share: float) -> int:
        """A slow contender gets a share of the jobs, or a round would take minutes. That should help it, if anything."""
        return max(100, int(self.jobs * share))


@dataclass(frozen=True)
class Entry:
    """Somebody who takes part, with a share of the jobs."""

    make: Make
    share: float = 1.0


def one(plan: Plan, entry: Entry) -> tuple[float, Contender]:
    """One drain: its rate, and who it was."""
    with TemporaryDirectory(prefix="job-engine-benchmark-") as folder, closing(entry.make(Path(folder))) as contender:
        jobs = plan.jobs_for(entry.share)
        with plan.console.status(f"{contender.name}: {jobs:,} jobs ({contender.settings})"):
            rate = drain(contender, jobs, Path(folder)).rate
        plan.console.print(f"  [dim]{contender.name}: {rate:,.0f}/s ({contender.settings})[/]")
        return rate, contender


def best(plan: Plan, candidates: Sequence[Make], share: float = 1.0) -> Entry:
    """The quickest of several settings of one peer. Each is tried twice and its better try counts: noise only slows."""
    plan.console.print("  [dim]which settings are the best here?[/]")
    tries = [[one(plan, Entry(make, share))[0] for make in candidates] for _ in range(_TRIES)]
    rates = [max(rates) for rates in zip(*tries, strict=True)]
    return Entry(candidates[rates.index(max(rates))], share)


def take_turns(plan: Plan, entries: Sequence[Entry]) -> list[list[float]]:
    """The rates of each entry, round by round."""
    rates: list[list[float]] = [[] for _ in entries]
    for number in range(1, plan.rounds + 1):
        plan.console.print(f"  [dim]round {number} of {plan.rounds}[/]")
        for entry, seen in zip(entries, rates, strict=True):
            seen.append(one(plan, entry)[0])
    return rates
