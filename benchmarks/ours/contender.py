"""Job Engine as a contender: its own command line, one worker process, everything it records in production."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.ours import app  # noqa: F401 - registers the job types
from benchmarks.ours.databases import KINDS
from job_engine import Engine
from job_engine.store.dialect import TABLES


def work_command(url: str) -> list[str]:
    return [sys.executable, "-m", "job_engine", "--db", url, "--app", "benchmarks.ours.app", "work", "--processes", "1"]


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
        return work_command(self._database.url)

    def environment(self) -> dict[str, str]:
        return {}

    def finished(self) -> int:
        return self._completed() - self._before

    def close(self) -> None:
        self._engine.close()
        self._database.close()

    def _completed(self) -> int:
        return self._database.value(f"SELECT count(*) FROM {TABLES['job']} WHERE status = 'Completed'")
