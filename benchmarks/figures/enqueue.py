"""How fast jobs come in: in bulk, and one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks import report
from benchmarks.drain import WrongCount
from benchmarks.ours import app  # noqa: F401 - registers the job types
from benchmarks.ours.databases import Sqlite
from benchmarks.report import Figure
from benchmarks.rounds import Plan
from job_engine import Engine
from job_engine.store.dialect import TABLES

_GROUP = "Enqueue on SQLite"


def measure(plan: Plan) -> Iterator[Figure]:
    rates = [_rates(plan.jobs) for _ in range(plan.rounds)]
    yield report.at_least(_GROUP, f"in bulk, {plan.jobs:,} jobs in one call", [bulk for bulk, _ in rates], "/s", 10_000)
    yield report.at_least(_GROUP, "one by one, each with a commit of its own", [single for _, single in rates], "/s")


def _rates(jobs: int) -> tuple[float, float]:
    singles = max(100, jobs // 20)
    with TemporaryDirectory(prefix="job-engine-benchmark-") as folder, closing(Sqlite(Path(folder))) as database:
        with closing(Engine.open(database.url)) as engine:
            start = perf_counter()
            engine.enqueue_many("note", [{"number": number} for number in range(jobs)])
            middle = perf_counter()
            for number in range(singles):
                engine.enqueue("note", {"number": jobs + number})
            end = perf_counter()
        inserted = database.value(f"SELECT count(*) FROM {TABLES['job']}")
    if inserted != jobs + singles:
        raise WrongCount(f"{jobs + singles} jobs were enqueued and {inserted} are in the table")
    return jobs / (middle - start), singles / (end - middle)
