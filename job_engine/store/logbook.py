"""The execution log: one row for every change of state, except that an attempt is one row.

That a job became Running is told by the row of the attempt's end, and by the job itself until then: half the rows, and one
statement less in every claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from job_engine.core.job import Job, Outcome, Transition
from job_engine.core.states import Status
from job_engine.store.session import Session

_INSERT = "INSERT INTO {log} ({columns}) {source}"
_COLUMNS = (
    "job, creation, from_status, to_status, attempt, actor, duration, error_type, error, reason, processed, failed"
)
_ATTEMPT_COLUMNS = f"{_COLUMNS}, worker, claimed_at"
_TEXT = 500  # characters of an error or a reason; the job itself has the whole


def record_outcomes(session: Session, outcomes: Sequence[Outcome], worker_id: str, now: datetime) -> None:
    at = session.dialect.to_db(now)
    rows: list[Sequence[Any]] = [
        (
            o.name,
            at,
            "Running",
            o.status.value,
            o.attempt,
            o.actor or worker_id,
            round(o.duration, 6),
            o.error_type,
            _short(o.error),
            _short(o.reason),
            o.processed,
            o.failed,
            worker_id,
            session.dialect.to_db(o.claimed_at),
        )
        for o in outcomes
    ]
    if rows:
        session.insert(_INSERT, _ATTEMPT_COLUMNS, rows)


def record(session: Session, entries: Sequence[tuple[str, Transition]]) -> None:
    """Write one row for each (job's name, transition). `from_status` is never None here: a job's creation is its row."""
    to_db = session.dialect.to_db
    rows: list[Sequence[Any]] = [
        (
            name,
            to_db(t.at),
            str(t.from_status),
            t.to_status.value,
            t.attempt,
            t.actor,
            t.duration,
            t.error_type,
            _short(t.error),
            _short(t.reason),
            t.processed,
            t.failed,
        )
        for name, t in entries
    ]
    if rows:
        session.insert(_INSERT, _COLUMNS, rows)


def history(session: Session, job: Job) -> list[Transition]:
    """The job's life from its creation on, oldest first."""
    from_db = session.dialect.from_db
    entries: list[Transition] = []
    for worker, claimed_at, creation, before, after, attempt, *rest in session.rows(
        f"SELECT worker, claimed_at, {_COLUMNS.removeprefix('job, ')} FROM {{log}} WHERE job = %s ORDER BY {{log_id}}",
        (job.name,),
    ):
        at = from_db(creation) or job.creation
        if before == Status.RUNNING:
            entries.append(Transition(from_db(claimed_at) or at, Status.QUEUED, Status.RUNNING, attempt, worker))
        entries.append(Transition(at, Status(before), Status(after), attempt, *rest))
    if job.status is Status.RUNNING:
        started = job.started_at or job.modified
        entries.append(Transition(started, Status.QUEUED, Status.RUNNING, job.attempts, job.lease_owner))
    first = (entries[0].from_status if entries else None) or job.status
    return [Transition(job.creation, None, first, 0, job.user), *entries]


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= _TEXT else text[: _TEXT - 1] + "…"
