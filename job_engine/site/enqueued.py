"""What follows an enqueue: nothing before the caller commits, then wake-ups and a word to whoever watches."""

from __future__ import annotations

from collections.abc import Sequence

import frappe

from job_engine.core.job import Job
from job_engine.core.states import Status
from job_engine.site import tenancy, wakeups
from job_engine.site.job_types import SiteRegistry


def note(created: Sequence[Job], known: SiteRegistry) -> None:
    """Jobs were inserted by the caller's transaction."""
    first = created[0]
    if not tenancy.may_act_for(first.user or "Administrator", first.organization):
        _trust(created)
    wakeups.after_commit({(job.queue, job.job_type) for job in created if job.status is Status.QUEUED}, known)


def _trust(created: Sequence[Job]) -> None:
    """Server code enqueued these for a user without permission of the organization: it must not be asked for when they run."""
    for i in range(0, len(created), 500):
        names = [job.name for job in created[i : i + 500]]
        frappe.db.sql("UPDATE `tabBackground Job` SET trusted = 1 WHERE name IN %(names)s", {"names": names})
