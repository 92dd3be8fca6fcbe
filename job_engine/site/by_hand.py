"""What follows a change by hand: the row says who made it, runners are woken once it is committed, and watchers are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import frappe
from frappe import _

from job_engine.core import canonical
from job_engine.core.errors import InvalidJob
from job_engine.core.fingerprint import job_hash
from job_engine.core.job import Job
from job_engine.core.redact import redact
from job_engine.core.states import RETRYABLE, Status
from job_engine.site import realtime, wakeups
from job_engine.store import retrying

if TYPE_CHECKING:
    from datetime import datetime

    from job_engine.site.engines import SiteEngine

_MOST_DEPENDENTS = 1000


def cancel(engine: SiteEngine, name: str, by: str, reason: str | None) -> Job:
    """Cancel the job and whatever waits for it."""
    job = engine.cancel(name, by, reason)
    note(engine, [job, *_canceled_with(engine, job)], by)
    return job


def retry(engine: SiteEngine, name: str, by: str, run_after: datetime | None = None) -> Job:
    job = engine.retry(name, by, run_after)
    note(engine, [job], by)
    return job


def retry_changed(engine: SiteEngine, job: Job, params: dict[str, Any], by: str, run_after: datetime | None) -> Job:
    """Retry with other parameters. The job's history tells who changed what.

    From now on the job runs for whoever changed it: otherwise anybody who may retry could have anything done in the name of
    the user who enqueued it. Its checkpoint goes, as it tells how far the work with the old parameters was.
    """
    if job.handler is not None:
        raise InvalidJob(
            _("Job {0} was enqueued by server code for the function {1}: its parameters cannot be changed.").format(
                job.name, job.handler
            )
        )
    text = canonical.encode(params, "params", engine.settings.payload_bytes)
    if job.status in RETRYABLE:  # if it is not, the retry says so
        frappe.db.sql(
            """UPDATE `tabBackground Job` SET params = %s, job_hash = %s, `user` = %s, trusted = 0, checkpoint = NULL
                WHERE name = %s AND status = %s""",
            (text, job_hash(job.job_type, job.organization, text), by, job.name, str(job.status)),
        )
    now = engine.store.now()
    with engine.store.session() as session:
        retrying.retry(session, job.name, by, run_after or now, now, _told(job, params))
    changed = engine.get(job.name)
    note(engine, [changed], by)
    return changed


def note(engine: SiteEngine, jobs: Sequence[Job], by: str) -> None:
    """Jobs were changed by the caller's transaction."""
    those, names = engine.store.dialect.among("name", [job.name for job in jobs])
    with engine.store.session() as session:
        session.execute(f"UPDATE {{job}} SET modified_by = %s WHERE {those}", [by, *names])
    realtime.changed(jobs, engine.store)
    wakeups.after_commit({(job.queue, job.job_type) for job in jobs if job.status is Status.QUEUED}, engine.registry)


def wake_after_commit(engine: SiteEngine) -> None:
    """Something was resumed: whatever waited for it may run."""
    frappe.db.after_commit.add(lambda: wakeups.wake_waiting(engine))


def _canceled_with(engine: SiteEngine, job: Job) -> list[Job]:
    """The dependents that went with it."""
    found: dict[str, Job] = {}
    parents = [job.name] if job.status is Status.CANCELED else []
    while parents and len(found) < _MOST_DEPENDENTS:
        for name in engine.store.dependents_of(parents.pop()):
            dependent = engine.store.get(name)
            if name not in found and dependent is not None and dependent.status is Status.CANCELED:
                found[name] = dependent
                parents.append(name)
    return list(found.values())


def _told(job: Job, params: dict[str, Any]) -> str:
    """What changed, without secrets."""
    before, after = redact(job.params), redact(params)
    parts = []
    for word in sorted({*before, *after}):
        if job.params.get(word) != params.get(word) or (word in before) is not (word in after):
            old = canonical.encode(before[word], must_be_object=False) if word in before else "(not given)"
            new = canonical.encode(after[word], must_be_object=False) if word in after else "(not given)"
            parts.append(f"{word}: {old} -> {new}")
    ran_for = f"; it ran for {job.user} before" if job.user else ""
    return f"{retrying.BY_HAND} with other parameters ({', '.join(parts) or 'the same values'}){ran_for}"
