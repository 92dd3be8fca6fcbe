"""The tick and the housekeeping, as Frappe's scheduler calls them.

A scheduled event is an RQ job as any other and waits while all workers are busy. Nothing depends on it then: runners queue
what is due themselves, and `bench job-engine dispatch` is the same tick as a process of its own. Any number may run at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import frappe

from job_engine.dispatcher import housekeeping as keep_house
from job_engine.dispatcher import tick as promote_and_rescue
from job_engine.site import alerts, events, job_types, wakeups
from job_engine.site.engines import RunnersEngine
from job_engine.site.surroundings import site_waits

log = logging.getLogger("job_engine.scheduler")


def tick() -> None:
    """Every minute: queue what is due, rescue what lost its worker, wake runners, send alerts, show new job types."""
    if site_waits(anew=True):
        return
    engine = RunnersEngine.for_runners()
    try:
        _do_all(
            lambda: promote_and_rescue(engine),
            lambda: wakeups.wake_waiting(engine, even_if_pending=True),
            send_alerts,
            _show_job_types,
        )
    finally:
        engine.close()


def housekeeping() -> None:
    """Every hour: forget what is older than Log Settings say, in small batches; compact the counters."""
    if site_waits(anew=True):
        return
    engine = RunnersEngine.for_runners()
    try:
        forgotten = keep_house(engine)
    finally:
        engine.close()
    if forgotten:
        log.info("Forgot %s jobs that ended long ago", forgotten, extra={"action": "pruned"})


def send_alerts() -> None:
    """Tell the apps' hooks and the people who want to know what ended in Dead Letter."""
    events.tell_dead_letters()
    alerts.send_due()
    frappe.db.commit()


def _show_job_types() -> None:
    job_types.sync()
    frappe.db.commit()


def _do_all(*duties: Callable[[], object]) -> None:
    """One duty that fails does not keep the tick from the others. The first error is raised at the end, for Frappe's log."""
    errors: list[Exception] = []
    for duty in duties:
        try:
            frappe.db.rollback()  # see what was committed meanwhile
            duty()
        except Exception as error:
            errors.append(error)
    if errors:
        frappe.db.rollback()
        raise errors[0]
