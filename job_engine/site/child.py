"""A worker process of `bench job-engine work`: `python -m job_engine.site.child`, its orders on standard input."""

from __future__ import annotations

import os
from dataclasses import dataclass

import frappe

from job_engine.beacon import Beacon
from job_engine.child import Orders, hold_lifeline, receive


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOrders(Orders):
    site: str
    sites_path: str
    queues: list[str]  # named one by one, as a bench's are
    alone: bool  # for one isolated job


def main() -> None:
    orders = receive(SiteOrders)
    if orders is None:
        return
    os.chdir(orders.sites_path)
    frappe.init(site=orders.site)
    frappe.connect()
    try:
        _work(orders)
    finally:
        frappe.destroy()


def _work(orders: SiteOrders) -> None:
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
