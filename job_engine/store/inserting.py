"""Insert jobs within the caller's transaction. Unique indexes, not a look beforehand, decide what is a duplicate."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from job_engine.core.errors import JobEngineError
from job_engine.core.job import Job
from job_engine.core.language import _
from job_engine.core.priority import lane_of
from job_engine.core.states import ENDED, Status
from job_engine.store import dependencies
from job_engine.store.rows import JOB_COLUMNS, job_from_row
from job_engine.store.session import Session

ROWS_IN_A_STATEMENT = 500
_TRIES = 5

_OWN = ("name", "params", "run_after", "job_hash", "creation", "modified")
_ALIKE = tuple("status job_type priority queue organization {user} handler max_attempts timeout lane".split())
_OF_KIN = ("dedup_key", "dedup_slot", "depends_on", "blockers")  # empty where a job has neither a twin nor a parent


class NewJob(NamedTuple):
    """What an enqueue asks for, checked and with its policy filled in."""

    job: Job
    dedup_window: float
    parents: tuple[str, ...] = ()


def insert(session: Session, new: Sequence[NewJob], now: datetime) -> list[Job]:
    """Insert what is new and find what is there already. The answers are in the order of the questions."""
    if not any(n.dedup_window or n.job.dedup_key is not None or n.parents for n in new):
        return _insert_sure(session, new, now)
    answers = _known(session, new)
    ready = [_placed(session, n, now) for n in new if n.job.name not in answers]
    for i in range(0, len(ready), ROWS_IN_A_STATEMENT):
        _insert(session, ready[i : i + ROWS_IN_A_STATEMENT], now, answers)
    created = [n for n in ready if answers[n.job.name].created]
    for n in created:
        if n.parents:
            dependencies.add(session, n.job.name, n.parents)
    if created:
        session.dialect.announce(session, {n.job.queue for n in created})
    return [answers[n.job.name] for n in new]


def _insert_sure(session: Session, new: Sequence[NewJob], now: datetime) -> list[Job]:
    """Insert jobs that can have no twin and wait for no other: what was asked for is what there is."""
    dialect = session.dialect
    ready = [_placed(session, n, now) for n in new]
    for i in range(0, len(ready), ROWS_IN_A_STATEMENT):
        rows = [_row(session, n) for n in ready[i : i + ROWS_IN_A_STATEMENT]]
        _send(session, dialect.insert_sure, rows)
    dialect.announce(session, {n.job.queue for n in ready})
    return [n.job for n in ready]


def _known(session: Session, new: Sequence[NewJob]) -> dict[str, Job]:
    """Dependents whose key is taken: looked up before their parents, which may be canceled or forgotten by now."""
    twins = {n.job.name: _twin(session, n.job, "") for n in new if n.parents and n.job.dedup_key is not None}
    return {name: twin.evolve(created=False) for name, twin in twins.items() if twin is not None}


def _placed(session: Session, new: NewJob, now: datetime) -> NewJob:
    """With the state it starts in: Queued when nothing keeps it from running now."""
    blockers = dependencies.blockers(session, new.parents, new.job.organization) if new.parents else 0
    if blockers or new.job.run_after > now:
        waiting = new.job.evolve(status=Status.PENDING, blockers=blockers)
        return NewJob(waiting, new.dedup_window, new.parents)
    return new


def _insert(session: Session, new: Sequence[NewJob], now: datetime, answers: dict[str, Job]) -> None:
    left = list(new)
    for _try in range(_TRIES):
        inserted = _insert_new(session, left)
        answers.update((n.job.name, n.job) for n in left if n.job.name in inserted)
        left = [n for n in left if n.job.name not in inserted]
        again = []
        for n in left:
            twin = _twin(session, n.job)
            if twin is None or _outlived(session, twin, n, now):
                again.append(n)
            else:
                answers[n.job.name] = twin.evolve(created=False)
        left = again
        if not left:
            return
    raise JobEngineError(
        _("Job {0} could not be inserted: each time its duplicate ended just before it was read. Try again.").format(
            left[0].job.name
        )
    )


def _insert_new(session: Session, new: Sequence[NewJob]) -> set[str]:
    """The names of the rows that went in."""
    dialect = session.dialect
    rows = [(*_of_kin(n), *_row(session, n)) for n in new]
    cursor = _send(session, dialect.insert_new, rows, _OF_KIN)
    if dialect.returns_updated:
        return {row[0] for row in cursor.fetchall()}
    names = [n.job.name for n in new]
    if cursor.rowcount == len(names) and not session.adopted:  # others may count rows found, not rows inserted
        return set(names)
    those, parameters = dialect.among("name", names)
    return set(session.column(f"SELECT name FROM {{job}} WHERE {those}", parameters))


def _send(session: Session, statement: str, rows: Sequence[tuple[Any, ...]], first: tuple[str, ...] = ()) -> Any:
    """Insert rows of `first`, _OWN, _ALIKE and whom they belong to."""
    owners = session.dialect.owner_columns
    return session.insert(statement, _columns(first, owners), rows, len(_ALIKE) + len(owners))


@cache
def _columns(first: tuple[str, ...], owners: tuple[str, ...]) -> str:
    return ", ".join((*first, *_OWN, *_ALIKE, *owners))


def _of_kin(new: NewJob) -> tuple[Any, ...]:
    j = new.job
    slot = j.job_hash if new.dedup_window and j.dedup_key is None else None
    return j.dedup_key, slot, j.depends_on, j.blockers


def _row(session: Session, new: NewJob) -> tuple[Any, ...]:
    j = new.job
    to_db = session.dialect.to_db
    made = to_db(j.creation)
    return (
        j.name,
        j.params_json,
        made if j.run_after is j.creation else to_db(j.run_after),
        j.job_hash,
        made,
        made,
        j.status.value,
        j.job_type,
        j.priority,
        j.queue,
        j.organization or "",
        j.user,
        j.handler,
        j.max_attempts,
        j.timeout,
        lane_of(j.priority, j.queue, j.organization, j.job_type),
        *[j.user] * len(session.dialect.owner_columns),
    )


def _twin(session: Session, job: Job, latest: str = "{latest}") -> Job | None:
    """The job whose unique key is in the way. Read as it is now, also where the transaction sees an older picture."""
    if job.dedup_key is not None:  # a key of the caller's own decides alone
        condition, parameters = "organization = %s AND dedup_key = %s", [job.organization or "", job.dedup_key]
    else:
        condition, parameters = "dedup_slot = %s", [job.job_hash]
    row = session.row(f"SELECT {JOB_COLUMNS} FROM {{job}} WHERE {condition}{latest}", parameters)
    return None if row is None else job_from_row(session.dialect, row)


def _outlived(session: Session, twin: Job, new: NewJob, now: datetime) -> bool:
    """Whether the twin no longer stands for the new job. If so its slot is freed for the next try."""
    if new.job.dedup_key is not None:
        return False
    if twin.status not in ENDED and twin.creation > now - timedelta(seconds=new.dedup_window):
        return False
    session.execute(
        "UPDATE {job} SET dedup_slot = NULL WHERE name = %s AND dedup_slot = %s", (twin.name, twin.job_hash)
    )
    return True
