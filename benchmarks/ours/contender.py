"""Job Engine as a contender: its own command line, one worker process, everything it records in production."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.ours import app
from benchmarks.ours.databases import KINDS
from job_engine import Engine
from job_engine.store.dialect import TABLES

#: As an application's operator would start it: `job-engine work --processes 1`.
WORK = [sys.executable, "-m", "job_engine.cli", "work", "--processes", "1"]


def work_environment(url: str) -> dict[str, str]:
    return {"JOB_ENGINE_DB": url, "JOB_ENGINE_APP": app.__name__}


class JobEngine:
    """Drains no-op jobs from a database that has nothing else, or has what was put there before."""

    def __init__(self, folder: Path, *, kind: str) -> None:
        self._own(KINDS[kind](folder))

    @classmethod
    def on(cls, database: Any) -> JobEngine:
        """On a database that is used for several rounds and closed by its owner."""
        contender = cls.__new__(cls)
        contender._own(database)
        contender.close = contender._engine.close  # type: ignore[method-assign]
        return contender

    def _own(self, database: Any) -> None:
        self.name = f"Job Engine on {database.name}"
        self.settings = f"{database.settings}, default settings"
        self._database = database
        self._engine = Engine.open(database.url)
        self._before = 0

    def fill(self, jobs: int) -> None:
        self._before = self._completed()
        self._engine.enqueue_many("noop", [{}] * jobs)
        self._database.settle()

    def worker(self) -> list[str]:
        return WORK

    def environment(self) -> dict[str, str]:
        return work_environment(self._database.url)

    def finished(self) -> int:
        return self._completed() - self._before

    def close(self) -> None:
        self._engine.close()
        self._database.close()

    def _completed(self) -> int:
        return self._database.value(f"SELECT count(*) FROM {TABLES['job']} WHERE status = 'Completed'")
