"""Run jobs in the test's own process, in a queue that no worker of the bench serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import frappe

from job_engine.core.job import Job
from job_engine.runner import Runner
from job_engine.site import engine
from job_engine.site.engines import RunnersEngine
from job_engine.tests.site.jobs import EFFECTS
from job_engine.worker_id import new_worker_id

QUEUE = "in_process"


@contextmanager
def in_process_runner() -> Iterator[Runner]:
    """A runner as a bench worker has it, with connections of its own. It takes what is committed when it is told to."""
    runners = RunnersEngine.for_runners(alone=False)
    runner = Runner(runners, new_worker_id(), (QUEUE,))
    try:
        yield runner
    finally:
        runner.close()
        runners.close()


class Bench:
    """What a test does with jobs."""

    def __init__(self, organization: str):
        self.organization = organization
        self.woken: list[tuple[str, bool]] = []

    def enqueue(self, job_type: str | Callable[..., Any], params: dict[str, Any] | None = None, **options: Any) -> Job:
        options = {"queue": QUEUE, "organization": self.organization, **options}
        return engine().enqueue(job_type, params or {}, **options)

    def run(self, most: int = 100) -> int:
        """Commit, and run what waits, as a runner does."""
        frappe.db.commit()
        ran = 0
        try:
            with in_process_runner() as runner:
                while ran < most and (n := runner.run_batch(most - ran)):
                    ran += n
        finally:
            frappe.db.rollback()
            frappe.set_user("Administrator")
        return ran

    def get(self, job: Job | str) -> Job:
        frappe.db.rollback()
        return engine().get(job if isinstance(job, str) else job.name)

    def effects(self, job: Job | None = None, kind: str = "ran") -> list[str | None]:
        frappe.db.rollback()
        condition, values = ("AND job = %s", [job.name]) if job else ("", [])
        rows = frappe.db.sql(f"SELECT value FROM `{EFFECTS}` WHERE kind = %s {condition} ORDER BY id", [kind, *values])
        return [row[0] for row in rows]
