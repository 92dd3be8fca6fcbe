"""Retry by hand: what ended in Dead Letter or was canceled starts anew, with all its attempts."""

from __future__ import annotations

from datetime import datetime

from job_engine.core.errors import IllegalTransition, JobNotFound
from job_engine.core.job import Transition
from job_engine.core.language import _
from job_engine.core.states import RETRYABLE, Status, check, listed
from job_engine.store import dependencies, logbook, stats
from job_engine.store.session import Session

BY_HAND = "retried by hand"


def retry(
    session: Session, name: str, by: str | None, run_after: datetime, now: datetime, reason: str = BY_HAND
) -> Status:
    """Make the job run again, within the caller's transaction. Its checkpoint stays, its history goes on."""
    row = session.row(
        "SELECT status, attempts, job_type, organization, queue FROM {job} WHERE name = %s{for_update}", (name,)
    )
    if row is None:
        raise JobNotFound(_("There is no job {0}.").format(name), name=name)
    status, attempts, job_type, organization, queue = Status(row[0]), *row[1:]
    blockers = sum(s is not Status.COMPLETED for _, s in dependencies.parents_of(session, name))
    target = Status.PENDING if blockers or run_after > now else Status.QUEUED
    if status not in RETRYABLE:  # released claims move alike, but only their worker may do that
        raise IllegalTransition(
            _(
                "Job {0} is {1}: only jobs in one of these states can be retried: {2}. To do the work again, enqueue a"
                " new job."
            ).format(name, _(status.value), listed(RETRYABLE)),
            name=name,
            status=status,
            wanted=target,
        )
    check(name, status, target)
    session.execute(
        "UPDATE {job} SET status = %s, attempts = 0, lost = 0, run_after = %s, blockers = %s, ended_at = NULL,"
        " started_at = NULL, cancel_requested_at = NULL, canceled_by = NULL, reason = NULL, progress = 0,"
        " progress_message = NULL, modified = %s WHERE name = %s",
        (str(target), session.dialect.to_db(run_after), blockers, session.dialect.to_db(now), name),
    )
    logbook.record(session, [(name, Transition(now, status, target, attempts, by, reason=reason))])
    stats.record(session, [(job_type, organization, stats.left(status), 0.0)], by or "", now)
    session.dialect.announce(session, [queue])
    return target
