"""Take back what a vanished worker held."""

from __future__ import annotations

from datetime import datetime

from job_engine.core.job import Outcome
from job_engine.core.states import Status
from job_engine.store.finishing import RESCUER, finish
from job_engine.store.session import Session

BATCH = 500
WORKER_LOST = "worker lost"

_HELD = "name, job_type, organization, attempts, lease_owner, started_at"


def rescue(session: Session, now: datetime, patience: float) -> int:
    """End the attempts whose lease has expired: up to one batch; call again while it returns a full one."""
    at = session.dialect.to_db(now)
    expired = "status = 'Running' AND lease_expires_at < %s"
    if session.row(f"SELECT 1 FROM {{job}} WHERE {expired} LIMIT 1", (at,)) is None:
        return 0  # the usual answer, without a transaction
    with session.transaction():
        if session.begin_seconds > patience:
            return 0  # nobody could write meanwhile: that a lease expired says nothing about its worker
        rows = session.rows(
            f"SELECT {_HELD} FROM {{job}} WHERE {expired} ORDER BY lease_expires_at LIMIT {BATCH}{{skip_locked}}", (at,)
        )
        for row in rows:
            _end(session, row, now)
    return len(rows)


def end_lost_attempt(session: Session, name: str, worker_id: str, attempt: int, now: datetime) -> bool:
    """The same for one job whose worker is known to be dead: no need to wait for its lease."""
    row = session.row(
        f"SELECT {_HELD} FROM {{job}} WHERE name = %s AND lease_owner = %s AND attempts = %s"
        " AND status = 'Running'{for_update}",
        (name, worker_id, attempt),
    )
    if row is not None:
        _end(session, row, now)
    return row is not None


def _end(session: Session, row: tuple, now: datetime) -> None:  # type: ignore[type-arg]
    name, job_type, organization, attempts, owner, started_at = row
    started = session.dialect.from_db(started_at) or now
    error = f"The worker {owner} vanished while it ran this job: killed, out of memory, or cut off."
    finish(
        session,
        owner,
        [
            Outcome(
                name=name,
                attempt=attempts,
                status=Status.QUEUED,  # unless it has no attempt left or was canceled: `finish` sees to that
                duration=max(0.0, (now - started).total_seconds()),
                job_type=job_type,
                organization=organization,
                claimed_at=started,
                run_after=now,
                error=error,
                error_type="Transient",
                reason=WORKER_LOST,
                actor=RESCUER,
            )
        ],
        now,
    )
    session.execute("UPDATE {job} SET lost = lost + 1 WHERE name = %s", (name,))
