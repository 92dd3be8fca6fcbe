"""How long an organization's job waits behind another organization's flood, counted in the worker's batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks import report, stamps, tally
from benchmarks.figures.kinds import on_each
from benchmarks.ours.contender import WORK, work_environment
from benchmarks.process import progress_limit, worker
from benchmarks.report import Figure
from benchmarks.rounds import Plan
from job_engine import Engine

_GROUP = "Fairness"
_MOST_BATCHES = 2
#: Jobs of the other organization that arrive while the flood is being drained, besides the one that waits from the start.
_ARRIVALS = 8
_LIMIT_SECONDS = 60.0


def measure(plan: Plan) -> Iterator[Figure]:
    def figures_on(kind: str, database: Any, folder: Path) -> Iterator[Figure]:
        with plan.console.status(f"fairness on {database.name}: {plan.flood:,} jobs of one organization"):
            first, later, calls = _overtaken(database, plan.flood, folder)
        what = f"{database.name}, {plan.flood:,} jobs of another organization waiting"
        rounds = ", ".join(f"{one:.1f}" for one in later)
        yield report.at_most(_GROUP, f"{what}: a job that waits from the start", first, " batches", _MOST_BATCHES)
        yield report.at_most(_GROUP, f"{what}: one that arrives later", max(later), " batches", _MOST_BATCHES, rounds)
        yield report.at_most(_GROUP, f"{database.name}, an enqueue meanwhile, the slowest", max(calls), " ms")

    return on_each(_GROUP, figures_on)


def _overtaken(database: Any, flood: int, folder: Path) -> tuple[float, list[float], list[float]]:
    """Batches of the flood that started between a foreign job's commit and its start; and how long its enqueue took, in ms."""
    started = tally.Tally.create(folder / "tally")
    seen = stamps.Stamps.create(folder / "stamps", _ARRIVALS + 1)
    environment = {
        **work_environment(database.url),
        tally.ENVIRONMENT: str(folder / "tally"),
        stamps.ENVIRONMENT: str(folder / "stamps"),
    }
    with closing(Engine.open(database.url)) as engine:
        batch = engine.settings.batch_jobs
        engine.enqueue_many("noop", [{}] * flood, organization="Flood")
        engine.enqueue("foreign", {"slot": 0}, organization="Other")
        database.settle()
        before, calls = [0], []
        with worker(WORK, environment, folder / "worker.log") as running:
            limit = progress_limit(lambda: started.count, _LIMIT_SECONDS)
            for slot in range(1, _ARRIVALS + 1):
                target = flood * slot // (_ARRIVALS + 2)
                running.wait_until(lambda target=target: started.count >= target, 0.002, limit)
                called = monotonic()
                engine.enqueue("foreign", {"slot": slot}, organization="Other")
                # From its commit on it waits. Where it has started by now, it has waited for nobody.
                before.append(started.count)
                calls.append((monotonic() - called) * 1000)
            for slot in range(_ARRIVALS + 1):
                running.wait_until(lambda slot=slot: seen.get(slot) is not None, 0.005, limit)
    batches = [max(0.0, seen.get(slot) - before[slot]) / batch for slot in range(_ARRIVALS + 1)]
    return batches[0], batches[1:], calls
