"""Cancel: at once what waits, by request what runs. What depends on a canceled job can never run and is canceled as well."""

from __future__ import annotations

from datetime import datetime

from job_engine.core.errors import IllegalTransition, JobNotFound
from job_engine.core.job import Transition
from job_engine.core.language import _
from job_engine.core.states import CANCELABLE, Status, check
from job_engine.store import dependencies, logbook, stats
from job_engine.store.session import Session

_WAITING = tuple(sorted(str(s) for s in CANCELABLE - {Status.RUNNING}))


def cancel(session: Session, name: str, by: str | None, reason: str | None, now: datetime) -> Status:
    """Cancel the job within the caller's transaction. Returns its state: Running, when its worker has yet to stop it."""
    row = session.row("SELECT status FROM {job} WHERE name = %s{for_update}", (name,))
    if row is None:
        raise JobNotFound(_("There is no job {0}.").format(name), name=name)
    status = Status(row[0])
    if status is Status.CANCELED:
        raise IllegalTransition(
            _("Job {0} is canceled already.").format(name), name=name, status=status, wanted=Status.CANCELED
        )
    check(name, status, Status.CANCELED)
    if status is Status.RUNNING:
        session.execute(
            "UPDATE {job} SET cancel_requested_at = COALESCE(cancel_requested_at, %s), canceled_by = %s, reason = %s"
            " WHERE name = %s AND status = 'Running'",
            (session.dialect.to_db(now), by, reason or "cancel requested", name),
        )
        return Status.RUNNING
    _cancel_waiting(session, name, by, reason or "canceled by hand", now)
    cancel_dependents(session, name, by, now)
    return Status.CANCELED


def cancel_dependents(session: Session, name: str, by: str | None, now: datetime) -> None:
    """Cancel whatever waits for this job, and what waits for that, and so on."""
    parents = [name]
    while parents:
        parent = parents.pop()
        for dependent in dependencies.dependents_of(session, [parent]):
            if _cancel_waiting(session, dependent, by, f"Job {parent}, which it depends on, was canceled.", now):
                parents.append(dependent)


def _cancel_waiting(session: Session, name: str, by: str | None, reason: str, now: datetime) -> bool:
    waiting, parameters = session.dialect.among("status", _WAITING)
    row = session.row(
        f"SELECT status, attempts, job_type, organization FROM {{job}} WHERE name = %s AND {waiting}{{for_update}}",
        [name, *parameters],
    )
    if row is None:
        return False
    status, attempts, job_type, organization = row
    at = session.dialect.to_db(now)
    session.execute(
        "UPDATE {job} SET status = 'Canceled', ended_at = %s, modified = %s, canceled_by = %s, reason = %s,"
        f" dedup_slot = NULL WHERE name = %s AND {waiting}",
        [at, at, by, reason, name, *parameters],
    )
    logbook.record(session, [(name, Transition(now, Status(status), Status.CANCELED, attempts, by, reason=reason))])
    stats.record(session, [(job_type, organization, stats.entered(Status.CANCELED), 0.0)], by or "", now)
    return True
