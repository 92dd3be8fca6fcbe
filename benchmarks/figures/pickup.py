"""How soon an idle worker starts a job that another process has just enqueued."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles
from time import monotonic, sleep
from typing import Any

from benchmarks import report
from benchmarks.figures.kinds import on_each
from benchmarks.ours.contender import WORK, work_environment
from benchmarks.process import progress_limit, worker
from benchmarks.report import Figure
from benchmarks.rounds import Plan
from benchmarks.stamps import ENVIRONMENT, Stamps
from job_engine import Engine

_GROUP = "Pickup of one job by an idle worker"
_REQUIRED_MS = {"sqlite": 20.0, "postgresql": 10.0, "mariadb": None}
#: Between two jobs, at random: neither in step with a worker's polling, nor so short that it is not idle yet.
_GAP_SECONDS = (0.05, 0.6)
_WARM_UP = 3
_LIMIT_SECONDS = 30.0


def measure(plan: Plan) -> Iterator[Figure]:
    def figures_on(kind: str, database: Any, folder: Path) -> Iterator[Figure]:
        with plan.console.status(f"pickup on {database.name}: {plan.samples} jobs, one by one"):
            delays = sorted(_delays(database.url, plan.samples, folder))
        spread = f"{len(delays)} jobs: {delays[0]:.1f} to {delays[-1]:.1f} ms"
        yield report.at_most(_GROUP, f"{database.name}, median", median(delays), " ms", _REQUIRED_MS[kind], spread)
        yield report.at_most(_GROUP, f"{database.name}, 95 of 100 within", quantiles(delays, n=20)[-1], " ms")

    return on_each(_GROUP, figures_on)


def _delays(url: str, samples: int, folder: Path) -> list[float]:
    """Milliseconds from the enqueue's commit to the start of the handler."""
    chance = random.Random(samples)
    stamps = Stamps.create(folder / "stamps", samples + _WARM_UP)
    environment = {**work_environment(url), ENVIRONMENT: str(folder / "stamps")}
    delays = []
    with (
        closing(Engine.open(url)) as engine,
        worker(WORK, environment, folder / "worker.log") as running,
    ):
        for slot in range(samples + _WARM_UP):
            engine.enqueue("stamp", {"slot": slot})
            committed = monotonic()
            limit = progress_limit(lambda slot=slot: slot, _LIMIT_SECONDS)
            running.wait_until(lambda slot=slot: stamps.get(slot) is not None, 0.005, limit)
            delays.append(max(0.0, (stamps.get(slot) - committed) * 1000))
            sleep(chance.uniform(*_GAP_SECONDS))
    return delays[_WARM_UP:]
