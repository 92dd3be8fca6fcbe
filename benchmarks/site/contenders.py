"""Plain `frappe.enqueue` and Job Engine, both run by one `bench worker`, as contenders in a drain."""

from __future__ import annotations

from itertools import count

import frappe
from frappe.utils.background_jobs import get_queue
from rq.registry import StartedJobRegistry

from benchmarks.site import bench
from benchmarks.site.jobs import noop
from job_engine.site import enqueue_many, redis_queue

_numbers = count(1)
_CHUNK = 1000


class _OnABench:
    settings = "bench worker"

    def worker(self) -> list[str]:
        return bench.worker()

    def environment(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        empty_queue()


class Plain(_OnABench):
    name = "frappe.enqueue"

    def fill(self, jobs: int) -> None:
        for _ in range(jobs):
            frappe.enqueue(noop, queue=bench.QUEUE)
        self._jobs, self._queue = jobs, get_queue(bench.QUEUE)

    def finished(self) -> int:
        """Neither waiting nor taken by a worker. RQ keeps no other account of them."""
        return self._jobs - len(self._queue) - StartedJobRegistry(queue=self._queue).count


class Ours(_OnABench):
    name = "Job Engine"

    def fill(self, jobs: int) -> None:
        self._organization = bench.organization(f"Round {next(_numbers)} {frappe.generate_hash(length=6)}")
        for start in range(0, jobs, _CHUNK):
            params = [{}] * min(_CHUNK, jobs - start)
            enqueue_many(noop, params, organization=self._organization, queue=bench.QUEUE, dedup_window=0)
        frappe.db.commit()

    def finished(self) -> int:
        frappe.db.rollback()  # see what the worker has committed
        return frappe.db.count("Background Job", {"organization": self._organization, "status": "Completed"})


def empty_queue() -> None:
    """Nothing of one round may wait in Redis when the next begins."""
    connection = redis_queue.connection()
    get_queue(bench.QUEUE).empty()
    for key in connection.scan_iter(redis_queue.key("*")):
        connection.delete(key)
