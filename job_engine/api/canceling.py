"""Cancel a job."""

from __future__ import annotations

import frappe

from job_engine.api import answering, answers
from job_engine.api.arguments import reason_of
from job_engine.api.method import method
from job_engine.api.permission import visible
from job_engine.site import by_hand, engine


@method(changes=True, managers=True)
def cancel_job(name: str, reason: str | None = None) -> answers.Changed:
    """Cancel a waiting job at once, with whatever depends on it; ask a running one to stop.

    name: The job.
    reason: Kept with the job.
    """
    job = visible(name)
    return answering.changed(by_hand.cancel(engine(), job.name, frappe.session.user, reason_of(reason)))
