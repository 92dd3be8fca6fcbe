"""A table beside the jobs in which handlers record their effect. It has no unique key, so that a second effect would show."""

from __future__ import annotations

from collections import Counter
from typing import Any

from job_engine import Engine, JobContext
from job_engine.store.sql import SqlStore


def create_table(engine: Engine) -> None:
    with engine.store.transaction() as session:
        session.execute("CREATE TABLE acceptance_effect (job varchar(140), attempt integer, worker varchar(140))")


def record(ctx: JobContext) -> None:
    """In the job's own transaction: there if and only if this attempt completes."""
    placeholder = ctx.engine.store.dialect.placeholder
    cursor = ctx.connection.cursor()
    cursor.execute(
        f"INSERT INTO acceptance_effect VALUES ({placeholder}, {placeholder}, {placeholder})",
        (ctx.name, ctx.attempt, ctx.job.lease_owner),
    )
    cursor.close()


def recorded(engine: Engine) -> Counter[tuple[str, int, str]]:
    """How often each (job, attempt, worker) has left its effect."""
    return Counter(_rows(engine.store, "SELECT job, attempt, worker FROM acceptance_effect"))


def completions(engine: Engine) -> Counter[tuple[str, int, str]]:
    """How often the history says that each (job, attempt, worker) has completed."""
    return Counter(_rows(engine.store, "SELECT job, attempt, actor FROM {log} WHERE to_status = 'Completed'"))


def _rows(store: SqlStore, template: str) -> list[tuple[Any, ...]]:
    with store.session() as session:
        return session.rows(template)
