"""Deleting one job by hand: what pruning does to many, in the caller's transaction. Frappe deletes the row itself."""

from __future__ import annotations

import frappe
from frappe import _

from job_engine.core.states import ENDED, Status
from job_engine.store import stats


def check(name: str, status: Status) -> None:
    """Refuse where somebody still needs the job."""
    if status not in ENDED:
        frappe.throw(
            _("Job {0} is {1} and may still run. Cancel it first; then it can be deleted.").format(name, status)
        )
    if status is Status.COMPLETED:
        return
    awaited_by = frappe.db.sql(
        """SELECT child.name FROM `__job_engine_dependency` d JOIN `tabBackground Job` child ON child.name = d.job
            WHERE d.parent = %s AND child.status <> 'Completed' LIMIT 1""",
        name,
    )
    if awaited_by:
        frappe.throw(
            _("Job {0} waits for {1}, and would wait for ever. Cancel and delete {0} first.").format(
                awaited_by[0][0], name
            )
        )


def forget_history(name: str, job_type: str, organization: str, status: Status) -> None:
    """Delete what belongs to the job, and count that it left."""
    from job_engine.site import engine

    store = engine().store
    session = store.connections.open()
    for table, column in (("log", "job"), ("dependency", "job"), ("dependency", "parent")):
        session.execute(f"DELETE FROM {{{table}}} WHERE {column} = %s", (name,))
    stats.record(session, [(job_type, organization, stats.left(status), 0.0)], "delete", store.now())
