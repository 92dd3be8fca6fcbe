"""Settle what a dead runner held: `python -m job_engine.site.settle`, called by its guard, told on standard input."""

from __future__ import annotations

import json
import os
import sys

import frappe

from job_engine.core import errors
from job_engine.settling import settle


def main() -> None:
    details, job, attempt, why = sys.stdin.read().splitlines()
    told = json.loads(details)
    os.chdir(told["sites_path"])
    frappe.init(site=told["site"])
    frappe.connect()
    try:
        from job_engine.site import wakeups
        from job_engine.site.engines import RunnersEngine

        engine = RunnersEngine.for_runners()
        interruption = getattr(errors, why)() if why else None
        settle(engine, told["worker_id"], job or None, int(attempt), interruption)
        engine.store.sign_out(told["worker_id"])
        engine.afterwards.publisher.changed([found] if job and (found := engine.store.get(job)) else [])
        frappe.db.rollback()
        wakeups.wake_waiting(engine, even_if_pending=True)
    finally:
        frappe.destroy()


if __name__ == "__main__":
    main()
