"""The engine of `bench job-engine`: every call is committed when it returns, and runners are woken for what it let go."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import frappe

from job_engine.core.job import Job
from job_engine.dispatcher import Tick
from job_engine.site import scheduler, settings, wakeups
from job_engine.site.engines import RunnersEngine, SiteEngine
from job_engine.site.outages import told_as_unavailable
from job_engine.site.surroundings import site_waits
from job_engine.store.inserting import NewJob

log = logging.getLogger("job_engine.console")

LOOK_SECONDS = 1.0  # between two looks at maintenance mode and settings, by a process that ticks all the time
WAKE_SECONDS = (
    5.0  # between two looks for jobs that wait though nothing was queued just now: a wake-up may have got lost
)
ALERT_SECONDS = 60.0


class ConsoleEngine(RunnersEngine):
    """Reads and writes on connections of its own, so that a million jobs are pruned in many small transactions.

    A new job goes the way of every caller's: through frappe.db, in one transaction with what a site adds to it.
    """

    def __init__(self, store: Any):
        super().__init__(store)
        self._next_look = self._next_wake = 0.0
        self._next_alert = time.monotonic() + ALERT_SECONDS
        self.waits = False  # the site is under maintenance, or its scheduler is off

    def insert(self, new: list[NewJob]) -> list[Job]:
        jobs = SiteEngine.for_callers().insert(new)
        frappe.db.commit()
        return jobs

    def retry(self, name: str, by: str | None = None, run_after: datetime | timedelta | float | None = None) -> Job:
        job = super().retry(name, by, run_after)
        wakeups.wake_waiting(self)
        return job

    def retry_many(
        self,
        by: str | None = None,
        spread_seconds: float = 0.0,
        progress: Callable[[int], None] = lambda n: None,
        **criteria: Any,
    ) -> int:
        retried = super().retry_many(by, spread_seconds, progress, **criteria)
        wakeups.wake_waiting(self)
        return retried

    def resume(self, scope: str, target: str = "") -> bool:
        resumed = super().resume(scope, target)
        wakeups.wake_waiting(self)
        return resumed

    # The tick, once or all the time

    def tick(self) -> Tick:
        """As the scheduler's, at any pace: what seldom changes is looked at seldom."""
        with told_as_unavailable(self.store.dialect):
            frappe.db.rollback()  # see what was committed meanwhile
            return self._tick(time.monotonic())

    def _tick(self, now: float) -> Tick:
        if now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            self._look()
        if self.waits:
            return Tick(0, 0)
        done = super().tick()
        if done.promoted or done.rescued or now >= self._next_wake:
            self._next_wake = now + WAKE_SECONDS
            wakeups.wake_waiting(self)
        if now >= self._next_alert:
            self._next_alert = now + ALERT_SECONDS
            scheduler.send_alerts()
        return done

    def _look(self) -> None:
        waited, self.waits = self.waits, site_waits(anew=True)
        self.settings = settings.engine_settings()
        if self.waits and not waited:
            log.warning(
                "%s is under maintenance or its scheduler is off: its jobs wait",
                frappe.local.site,
                extra={"action": "site_waits"},
            )
        elif waited and not self.waits:
            log.info("%s is back: its jobs go on", frappe.local.site, extra={"action": "site_goes_on"})
