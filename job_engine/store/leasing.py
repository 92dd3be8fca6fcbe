"""What a worker writes while it runs a job: heartbeat, progress, checkpoint. Each carries the attempt's fence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from job_engine.core.errors import LeaseLost
from job_engine.store.session import Session

# Only a running job has a lease_owner. Naming the state as well would invite a planner to search by it, not by the key.
OWNED = "attempts = %s AND lease_owner = %s"


class Held(NamedTuple):
    """A job that still belongs to the worker that asked."""

    name: str
    attempt: int
    cancel_requested: bool


def heartbeat(
    session: Session, worker_id: str, names: Sequence[str], now: datetime, lease_seconds: float
) -> list[Held]:
    """Extend the leases of these jobs. What is missing in the answer has been lost."""
    those, parameters = session.dialect.among("name", names)
    # Not those that somebody has locked just now, such as a transaction that enqueues a dependent: the others must not wait.
    free = session.column(
        f"SELECT name FROM {{job}} WHERE {those} AND lease_owner = %s{{skip_locked}}", [*parameters, worker_id]
    )
    if free:
        those, parameters = session.dialect.among("name", free)
        until = session.dialect.to_db(now + timedelta(seconds=lease_seconds))
        session.execute(f"UPDATE {{job}} SET lease_expires_at = %s WHERE {those}", [until, *parameters])
    return held(session, worker_id, names)


def held(session: Session, worker_id: str, names: Sequence[str] | None = None) -> list[Held]:
    """Which jobs this worker holds, and which of them somebody wants canceled."""
    those, parameters = ("status = 'Running'", []) if names is None else session.dialect.among("name", names)
    rows = session.rows(
        f"SELECT name, attempts, cancel_requested_at FROM {{job}} WHERE {those} AND lease_owner = %s",
        [*parameters, worker_id],
    )
    return sorted(Held(name, attempts, requested is not None) for name, attempts, requested in rows)


def save_progress(
    session: Session, name: str, worker_id: str, attempt: int, progress: float, message: str | None
) -> None:
    _write(session, "progress = %s, progress_message = %s", [progress, message], name, worker_id, attempt)


def save_checkpoint(session: Session, name: str, worker_id: str, attempt: int, checkpoint: str) -> None:
    _write(session, "checkpoint = %s", [checkpoint], name, worker_id, attempt)


def _write(session: Session, what: str, values: list[object], name: str, worker_id: str, attempt: int) -> None:
    if (
        session.row(f"SELECT 1 FROM {{job}} WHERE name = %s AND {OWNED}{{for_update}}", (name, attempt, worker_id))
        is None
    ):
        raise LeaseLost(f"Job {name} no longer belongs to {worker_id} (attempt {attempt}).", name=name, attempt=attempt)
    session.execute(f"UPDATE {{job}} SET {what} WHERE name = %s AND {OWNED}", [*values, name, attempt, worker_id])
