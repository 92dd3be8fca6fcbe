"""Pending, Failed and Timed Out jobs become Queued when they are due and nothing blocks them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from job_engine.core.job import Transition
from job_engine.core.states import Status
from job_engine.store import logbook
from job_engine.store.session import Session

BATCH = 500

_DUE = "status IN ('Pending', 'Failed', 'Timed Out') AND blockers = 0 AND run_after <= %s"


def promote_due(session: Session, now: datetime) -> int:
    """Promote up to one batch of what is due. Call again while it returns a full one."""
    at = session.dialect.to_db(now)
    order = session.dialect.promote_order
    if session.row(f"SELECT 1 FROM {{job}} WHERE {_DUE}{order} LIMIT 1", (at,)) is None:
        return 0  # the usual answer, without a transaction
    with session.transaction():
        rows = session.rows(
            f"SELECT name, status, attempts, queue FROM {{job}} WHERE {_DUE}{order} LIMIT {BATCH}{{skip_locked}}",
            (at,),
        )
        return _queue(session, rows, now)


def promote(session: Session, names: Sequence[str], now: datetime) -> int:
    """Promote those of the named jobs that are due, within the caller's transaction."""
    those, parameters = session.dialect.among("name", names)
    rows = session.rows(
        f"SELECT name, status, attempts, queue FROM {{job}} WHERE {those} AND {_DUE}{{skip_locked}}",
        [*parameters, session.dialect.to_db(now)],
    )
    return _queue(session, rows, now, due_now=True)


def next_due(session: Session) -> datetime | None:
    """When the next job that only waits for its time will be due."""
    return session.dialect.from_db(session.value(session.dialect.next_due))


def _queue(session: Session, rows: Sequence[tuple[str, str, int, str]], now: datetime, due_now: bool = False) -> int:
    """`due_now`: they waited for a parent until this moment; that is when they became due, whatever was asked for."""
    if not rows:
        return 0
    those, parameters = session.dialect.among("name", [row[0] for row in rows])
    at = session.dialect.to_db(now)
    due, when = (", run_after = %s", [at]) if due_now else ("", [])
    session.execute(f"UPDATE {{job}} SET status = 'Queued', modified = %s{due} WHERE {those}", [at, *when, *parameters])
    logbook.record(
        session,
        [
            (name, Transition(now, Status(status), Status.QUEUED, attempts, "tick", reason="due"))
            for name, status, attempts, _queue_name in rows
        ],
    )
    session.dialect.announce(session, {row[3] for row in rows})
    return len(rows)
