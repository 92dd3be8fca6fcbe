"""Whether a table full of jobs that ended and of jobs for the future slows the drain down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.figures.drains import ours
from benchmarks.figures.kinds import on_each
from benchmarks.ours import history
from benchmarks.ours.contender import JobEngine
from benchmarks.report import Figure
from benchmarks.rounds import Entry, Plan, take_turns
from job_engine import Engine

_GROUP = "Growth"
_AT_LEAST = 0.8


def measure(plan: Plan) -> Iterator[Figure]:
    def figures_on(kind: str, database: Any, folder: Path) -> Iterator[Figure]:
        # The big table is made once: every round adds its own finished jobs to it, and has an empty one beside it.
        table = f"{plan.history:,} ended and {plan.history:,} future jobs in the table"
        with plan.console.status(f"{database.name}: {table}"), closing(Engine.open(database.url)) as engine:
            history.grow(engine, database, plan.history, plan.history)
        grown, empty = take_turns(plan, [Entry(lambda _: JobEngine.on(database)), ours(kind)])
        yield report.ratio(_GROUP, f"{database.name}, {table}", grown, empty, "an empty table", _AT_LEAST)

    return on_each(_GROUP, figures_on)
