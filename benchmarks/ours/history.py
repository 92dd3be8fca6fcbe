"""A table that has been in use for long: many jobs that ended, and many that are due in the future.

One real job of each kind goes through the engine; the database then copies its rows, so that the copies are what the engine
writes, whatever its columns are.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from job_engine import Engine
from job_engine.store.dialect import TABLES

_JOB, _LOG = TABLES["job"], TABLES["log"]
_DAY = 86_400


def grow(engine: Engine, database: Any, ended: int, future: int) -> None:
    """Add jobs that ended within the last days, with their log, and jobs due within the next months."""
    done = _completed(engine)
    waiting = engine.enqueue("noop", {}, run_after=engine.store.now() + timedelta(days=1)).name
    # Within the retention, or the worker would prune them while it is measured.
    _copy_job(database, done, ended, moved=("ended_at",), seconds=f"-(n % {7 * _DAY})")
    _copy_log(database, done, ended)
    _copy_job(database, waiting, future, moved=("run_after",), seconds=f"n % {90 * _DAY}")
    database.settle()


def _completed(engine: Engine) -> str:
    """A job as a worker leaves it, by the calls that a worker makes."""
    engine.enqueue("noop", {})
    (job,) = engine.store.claim_batch("benchmark", 1)
    engine.store.mark_success(job.name, "benchmark", job.attempts)
    return job.name


def _copy_job(database: Any, name: str, count: int, moved: tuple[str, ...], seconds: str) -> None:
    def value(column: str) -> str:
        plain = column.strip('"`')
        if plain in ("name", "job_hash"):
            return database.text(column, "'-'", "n")
        return database.later(column, seconds) if plain in moved else column

    columns = database.columns(_JOB)
    database.execute(
        f"INSERT INTO {_JOB} ({', '.join(columns)}) SELECT {', '.join(map(value, columns))}"
        f" FROM {_JOB}, {database.series.format(count=count)} WHERE name = '{name}'"
    )


def _copy_log(database: Any, name: str, count: int) -> None:
    columns = [column for column in database.columns(_LOG) if column.strip('"`') != "id"]
    values = [database.text(column, "'-'", "n") if column.strip('"`') == "job" else column for column in columns]
    database.execute(
        f"INSERT INTO {_LOG} ({', '.join(columns)}) SELECT {', '.join(values)}"
        f" FROM {_LOG}, {database.series.format(count=count)} WHERE job = '{name}'"
    )
