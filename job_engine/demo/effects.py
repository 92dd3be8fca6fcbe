"""The demo's own tables, beside the engine's: what its handlers did, so that doing it twice would show.

Handlers write here through `ctx.connection`, so that an effect is committed with its job's completion or not at all.
No column is unique: the tables must be able to hold what must not happen.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from job_engine.context import JobContext
    from job_engine.store.session import Session

MARK = "demo_effect"  # a database with this table is a demo's
PARTNER = "partner"  # a service that is down until the demo is over

_TABLES = (
    f"CREATE TABLE {MARK} (job TEXT NOT NULL)",
    "CREATE TABLE demo_imported_row (organization TEXT NOT NULL, number INTEGER NOT NULL)",
    "CREATE TABLE demo_outage (service TEXT NOT NULL)",
)


def create_tables(connection: Any) -> None:
    for statement in _TABLES:
        connection.execute(statement)


# Of handlers


def record(ctx: JobContext) -> None:
    """Say that this job has done its work. The last thing a handler does: from here on SQLite lets nobody else write."""
    ctx.connection.execute(f"INSERT INTO {MARK} (job) VALUES (?)", (ctx.name,))


def import_rows(ctx: JobContext, numbers: range) -> None:
    ctx.connection.executemany(
        "INSERT INTO demo_imported_row (organization, number) VALUES (?, ?)", [(ctx.organization, n) for n in numbers]
    )


def is_down(ctx: JobContext, service: str) -> bool:
    found = ctx.connection.execute("SELECT 1 FROM demo_outage WHERE service = ?", (service,)).fetchone()
    return found is not None


# Of the demo itself


def take_down(session: Session, service: str) -> None:
    session.execute("INSERT INTO demo_outage (service) VALUES (%s)", (service,))


def bring_back(session: Session, service: str) -> None:
    session.execute("DELETE FROM demo_outage WHERE service = %s", (service,))


def read_effects(session: Session) -> Counter[str]:
    """How often each job has done its work."""
    return Counter(dict(session.rows(f"SELECT job, COUNT(*) FROM {MARK} GROUP BY job")))


def read_imported_rows(session: Session) -> Counter[tuple[str, int]]:
    """How often each row of each organization was imported."""
    return Counter((organization, n) for organization, n in session.rows("SELECT * FROM demo_imported_row"))
