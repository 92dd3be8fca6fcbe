"""What another thread, process or clock does at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import frappe

from job_engine import JobContext
from job_engine.core.errors import JobTimeout
from job_engine.core.states import Status
from job_engine.site import redis_queue, wakeups
from job_engine.site.engines import RunnersEngine
from job_engine.tests.site.bench_workers import QUEUE as WORKERS_QUEUE
from job_engine.tests.site.bench_workers import BenchWorkers, wait_until
from job_engine.tests.site.running import Bench, in_process_runner
from job_engine.tests.site.sharing import enqueue, plain, somebody_else


def sees_its_document(ctx: JobContext, i: int = 0) -> None:
    assert frappe.db.sql("SELECT COUNT(*) FROM `tabBackground Job` WHERE name = %s", ctx.name)[0][0]


def test_a_handler_sees_what_was_committed_with_its_job(here: Bench) -> None:
    """However long ago the runner has last looked at the site's database."""
    frappe.db.commit()
    with in_process_runner() as runner:
        # While lingering, a runner looks whether the site waits.
        frappe.db.sql("SELECT COUNT(*) FROM `tabOrganization`")
        with somebody_else():
            (job,) = enqueue(here, sees_its_document)
        assert runner.run_batch(10) == 1
    assert here.get(job).last_error is None


def test_a_runners_keeper_can_judge_without_frappe_local(here: Bench) -> None:
    """It settles a job that will not stop, where the supervisor is gone."""
    job = here.enqueue("test.noop").evolve(attempts=1)
    runners = RunnersEngine.for_runners()
    runners.judge(job, JobTimeout(), 1.0)  # the runner itself has looked at the overrides by then
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(runners.judge, job, JobTimeout(), 1.0).result().status is Status.TIMED_OUT


def test_a_runner_whose_clock_is_a_little_late_takes_what_it_was_woken_for(here: Bench) -> None:
    """Two processes never agree to the millisecond what the database's time is, and nobody would wake it again."""
    (job,) = enqueue(here, plain)
    frappe.db.commit()
    with in_process_runner() as runner:
        store = runner.engine.store
        clock = store.now
        store.now = lambda: min(clock(), job.run_after - timedelta(milliseconds=50))
        assert runner.run_batch(10) == 1


def test_a_worker_that_is_told_to_stop_leaves_what_waits_to_the_next(workers: BenchWorkers) -> None:
    """At once: nobody waits for the tick because of a restart."""
    workers.start()
    first = workers.enqueue("test.sleep", {"seconds": 3, "steps": 60})
    wait_until(lambda: workers.get(first).status is Status.RUNNING)
    second = workers.enqueue("test.effect")
    redis_queue.connection().delete(wakeups.pending_key(WORKERS_QUEUE, False), redis_queue.rq_key(WORKERS_QUEUE))
    workers.processes[0].terminate()
    workers.processes[0].wait(20)
    workers.start()
    workers.wait_for(second, seconds=20)
