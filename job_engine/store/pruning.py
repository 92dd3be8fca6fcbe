"""Forget what ended long ago, in small batches so that nobody waits for it."""

from __future__ import annotations

from datetime import datetime

from job_engine.core.errors import JobEngineError
from job_engine.core.states import ENDED, Status
from job_engine.store import stats
from job_engine.store.session import Session

BATCH = 500

# Says again what the partial index's own condition says: SQLite does not conclude it from one of the three.
_IN_INDEX = "j.status IN ('Completed', 'Dead Letter', 'Canceled')"

# A parent that has not completed is kept, however old, while a dependent may still run: it would wait for ever, or, with
# its parent forgotten, run though that never completed.
_NOT_AWAITED = (
    " AND NOT EXISTS (SELECT 1 FROM {dependency} d JOIN {job} c ON c.name = d.job"
    " WHERE d.parent = j.name AND c.status <> 'Completed')"
)


def prunable(session: Session, status: Status, ended_before: datetime) -> int:
    """How many jobs `prune` would delete."""
    return int(
        session.value(
            f"SELECT COUNT(*) FROM {{job}} j WHERE {_old(status)}",
            (session.dialect.to_db(ended_before),),
        )
    )


def prune(session: Session, status: Status, ended_before: datetime, now: datetime) -> int:
    """Delete up to one batch of jobs of this state with their history. Call again while it returns something."""
    with session.transaction():
        rows = session.rows(
            f"SELECT j.name, j.job_type, j.organization FROM {{job}} j WHERE {_old(status)}"
            f" ORDER BY j.ended_at LIMIT {BATCH}{{skip_locked_j}}",
            (session.dialect.to_db(ended_before),),
        )
        if not rows:
            return 0
        names = [row[0] for row in rows]
        for table, column in (("log", "job"), ("dependency", "job"), ("dependency", "parent"), ("job", "name")):
            those, parameters = session.dialect.among(column, names)
            session.execute(f"DELETE FROM {{{table}}} WHERE {those}", parameters)
        stats.record(
            session,
            [(job_type, organization, stats.left(status), 0.0) for _, job_type, organization in rows],
            "prune",
            now,
        )
    return len(rows)


def _old(status: Status) -> str:
    """The condition for jobs of this state that ended before a moment and that nobody needs any more."""
    if status not in ENDED:
        raise JobEngineError(f"Jobs that are {status} have not ended and are never pruned.")
    awaited = "" if status is Status.COMPLETED else _NOT_AWAITED
    return f"{_IN_INDEX} AND j.status = '{status}' AND j.ended_at < %s{awaited}"
