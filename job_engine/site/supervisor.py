"""`bench job-engine work`: runners in processes of their own, without RQ, for a machine that does nothing else.

They share the site's jobs with the bench's workers, which need not know of them: who claims a job first, runs it.
"""

from __future__ import annotations

import os
import time

import frappe
from frappe.utils.background_jobs import get_queues_timeout

from job_engine.cli.home import WorkOrders
from job_engine.core.priority import Lane, lane_ranges
from job_engine.site.child import SiteOrders
from job_engine.site.console import ConsoleEngine
from job_engine.site.job_types import isolated
from job_engine.site.wakeups import MOST_LANES, check_queue
from job_engine.supervisor import Supervisor


class SiteSupervisor(Supervisor):
    """Beside its pool it starts a process for each isolated job, at most as many as the pool has."""

    engine: ConsoleEngine
    worker_module = "job_engine.site.child"

    def __init__(self, engine: ConsoleEngine, orders: WorkOrders):
        for queue in orders.queues or ():
            check_queue(queue)
        queues = orders.queues or tuple(sorted(get_queues_timeout()))
        super().__init__(
            engine, "", None, orders.processes, queues, orders.poll_seconds, orders.log_format, orders.log_level
        )
        self._alone: set[str] = set()  # children that run one isolated job
        self._isolated_job_waits = False
        self._starts_alone = False

    def _fill(self) -> None:
        if time.monotonic() < self._restart_at:
            return
        apart = [child for child in self._children if child.worker_id in self._alone]
        for _ in range(self._wanted - (len(self._children) - len(apart))):
            self._start()
        if self._isolated_job_waits and len(apart) < self._wanted:
            self._isolated_job_waits, self._starts_alone = False, True  # until the next look
            self._start()
            self._starts_alone = False

    def _orders(self, worker_id: str, beacon: int) -> str:
        if self._starts_alone:
            self._alone.add(worker_id)
        return SiteOrders(
            site=frappe.local.site,
            sites_path=os.path.abspath(frappe.local.sites_path),
            worker_id=worker_id,
            beacon=beacon,
            queues=list(self._queues or ()),
            alone=self._starts_alone,
            poll_seconds=self._poll_seconds,
            log_format=self._log_format,
            log_level=self._log_level,
        ).to_json()

    def _tick(self) -> None:
        due = time.monotonic() >= self._next_tick
        super()._tick()
        if due and self._stopped_at is None and not self.engine.waits:
            self._alone &= {child.worker_id for child in self._children}
            self._isolated_job_waits = self._look_for_isolated()

    def _look_for_isolated(self) -> bool:
        store = self.engine.store
        with store.session() as session:
            texts = store.dialect.walk_lanes(session, lane_ranges(self._queues), MOST_LANES)
            controls = store.controls_on(session) if texts else None
        apart = isolated(self.engine.registry)
        lanes = [lane for lane in map(Lane.parse, texts) if lane.job_type in apart]
        return any(controls is not None and controls.pause_of(lane) is None for lane in lanes)
