"""A worker process of `bench job-engine work`: `python -m job_engine.site.child`, its orders on standard input."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass

import frappe

from job_engine.beacon import Beacon
from job_engine.child import hold_lifeline
from job_engine.logs import configure


@dataclass(frozen=True, slots=True)
class Orders:
    site: str
    sites_path: str
    worker_id: str
    beacon: int  # an open file descriptor
    queues: list[str]
    alone: bool  # for one isolated job
    poll_seconds: float
    log_format: str
    log_level: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def main() -> None:
    line = sys.stdin.readline()
    if not line:
        return  # the supervisor is gone already
    orders = Orders(**json.loads(line))
    configure(orders.log_format, orders.log_level)
    os.chdir(orders.sites_path)
    frappe.init(site=orders.site)
    frappe.connect()
    try:
        _work(orders)
    finally:
        frappe.destroy()


def _work(orders: Orders) -> None:
    from job_engine.site.engines import RunnersEngine
    from job_engine.site.worker import SiteWorker

    engine = RunnersEngine.for_runners(orders.alone)
    worker = SiteWorker(engine, orders.worker_id, tuple(orders.queues), Beacon(orders.beacon))
    hold_lifeline(worker)
    if orders.alone:
        worker.run_one()
    else:
        worker.run(orders.poll_seconds, engine.settings.batch_jobs)


if __name__ == "__main__":
    main()
