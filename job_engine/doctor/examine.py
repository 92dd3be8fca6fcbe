"""Ask everything, in the order in which an operator would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from job_engine.doctor.database import (
    check_clock,
    check_database,
    check_durability,
    check_filesystem,
    check_tables,
    database_time,
    filesystem_of,
    mounts,
)
from job_engine.doctor.finding import Finding, Level
from job_engine.doctor.jobs import check_application, check_jobs
from job_engine.engine import Engine
from job_engine.store.sqlite import SQLite


def examine(engine: Engine, load_types: Callable[[], None], application: str | None) -> Iterator[Finding]:
    """Every finding, in the order in which an operator would ask."""
    finding = check_application(engine, load_types, application)
    reachable, session = check_database(engine)
    yield reachable
    if session is None:
        yield finding
        return
    if isinstance(engine.store.dialect, SQLite):
        yield check_filesystem(filesystem_of(Path(engine.store.dialect.path), mounts()))
        yield check_durability(str(session.value("PRAGMA journal_mode")), int(session.value("PRAGMA synchronous")))
    tables = check_tables(session)
    yield tables
    yield check_clock(database_time(session), datetime.now(timezone.utc))
    yield finding
    if tables.level is not Level.PROBLEM:
        yield from check_jobs(engine, session)
