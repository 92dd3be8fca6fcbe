"""Real workers on the bench: killed, told to stop, kept busy, and left without Redis."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import frappe
import pytest

from job_engine.core.states import Status
from job_engine.site import engine, redis_queue, wakeups
from job_engine.site.engines import RunnersEngine
from job_engine.tests.site.bench_workers import QUEUE, BenchWorkers, wait_until


def tick() -> None:
    """What the scheduler does every minute."""
    from job_engine.site import scheduler

    frappe.db.rollback()
    scheduler.tick()
    frappe.db.rollback()


def test_two_thousand_jobs_with_workers_and_horses_killed_have_one_effect_each(workers: BenchWorkers) -> None:
    workers.start(2)
    jobs = engine().enqueue_many(
        "test.effect",
        ({"value": str(i)} for i in range(2000)),
        queue=QUEUE,
        organization=workers.organization,
        max_attempts=50,
    )
    frappe.db.commit()
    rng = random.Random(1)
    killed, until = 0, time.monotonic() + 90
    while workers.counts().get("Completed", 0) < 2000:
        assert time.monotonic() < until, workers.counts()
        if killed < 6:
            if killed % 3 == 2:
                process = rng.choice(workers.processes)
                os.killpg(process.pid, signal.SIGKILL)  # the worker and its fork
                process.wait()
                killed += 1
            else:
                killed += workers.kill_horse()
        workers.replace_dead()
        tick()
        time.sleep(0.3)  # between two kills: some jobs must get done
    assert killed >= 3
    assert workers.effects() == {job.name: 1 for job in jobs}


def test_what_waits_in_the_database_survives_a_flushed_redis(workers: BenchWorkers) -> None:
    for i in range(1000):
        engine().enqueue("test.effect", {"value": str(i)}, queue=QUEUE, organization=workers.organization)
    frappe.db.commit()
    redis_queue.connection().flushall()
    workers.start()
    tick()
    wait_until(lambda: workers.counts() == {"Completed": 1000}, 60)
    assert set(workers.effects().values()) == {1}


def test_without_redis_an_enqueue_is_quick_and_sure(workers: BenchWorkers) -> None:
    address = frappe.local.conf.redis_queue
    frappe.local.conf.redis_queue = "redis://127.0.0.1:1"
    try:
        started = time.monotonic()
        job = workers.enqueue("test.effect")
        assert time.monotonic() - started < 2
    finally:
        frappe.local.conf.redis_queue = address
    workers.start()
    tick()
    assert workers.wait_for(job).attempts == 1


def test_a_job_that_kills_its_worker_ends_in_dead_letter(workers: BenchWorkers) -> None:
    workers.start()
    job = workers.enqueue("test.die")
    other = workers.enqueue("test.effect")

    def ended() -> bool:
        tick()
        return workers.get(job).status == Status.DEAD_LETTER

    wait_until(ended, 60)
    dead = workers.get(job)
    assert (dead.attempts, dead.lost) == (2, 2)
    assert "worker" in (dead.reason or "")
    assert workers.wait_for(other, seconds=60).status == Status.COMPLETED


@pytest.mark.parametrize("hold_the_interpreter", [False, True])
def test_a_stubborn_handler_is_killed_and_recorded_as_timed_out(
    workers: BenchWorkers, hold_the_interpreter: bool
) -> None:
    workers.start()
    job = workers.enqueue("test.stubborn", {"hold_the_interpreter": hold_the_interpreter})
    dead = workers.wait_for(job, "Dead Letter", seconds=40)
    assert "timeout" in (dead.last_error or "").lower() or "timeout" in (dead.reason or "").lower(), dead
    assert workers.wait_for(workers.enqueue("test.effect"), seconds=40).attempts == 1


def test_a_running_job_is_canceled_within_seconds(workers: BenchWorkers) -> None:
    workers.start()
    job = workers.enqueue("test.sleep", {"seconds": 60})
    workers.wait_for(job, "Running")
    engine().cancel(job.name, by="an operator")
    frappe.db.commit()
    canceled = workers.wait_for(job, "Canceled", seconds=10)
    assert canceled.canceled_by == "an operator"
    assert workers.effects() == {}


def test_an_isolated_type_has_a_process_for_each_job(workers: BenchWorkers) -> None:
    workers.start()
    jobs = [workers.enqueue("test.process") for _ in range(3)]
    for job in jobs:
        workers.wait_for(job)
    assert len({workers.get(job).result for job in jobs}) == 3


def test_runners_ride_on_a_worker_pool_as_well(workers: BenchWorkers) -> None:
    workers.start_pool(2)
    jobs = [workers.enqueue("test.sleep", {"seconds": 1, "steps": 2}) for _ in range(4)]
    for job in jobs:
        assert workers.wait_for(job, seconds=40).attempts == 1


def test_a_warm_runner_takes_the_next_job_at_once(workers: BenchWorkers) -> None:
    workers.start()
    workers.wait_for(workers.enqueue("test.effect"))
    runner = _only(workers.horses())
    for _ in range(5):
        wait_until(_somebody_listens)
        workers.wait_for(workers.enqueue("test.effect"), seconds=5)
        assert workers.horses() == [runner]


def _somebody_listens() -> bool:
    ((_, listeners),) = redis_queue.connection().pubsub_numsub(wakeups.channel(QUEUE))
    return bool(listeners)


def test_a_runner_gives_way_to_other_rq_jobs_and_comes_back(workers: BenchWorkers, tmp_path: Path) -> None:
    workers.start()
    jobs = [workers.enqueue("test.sleep", {"seconds": 1, "steps": 1}) for _ in range(30)]
    workers.wait_for(jobs[0], "Running")
    touched = tmp_path / "touched"
    frappe.enqueue("job_engine.tests.site.jobs.touch", queue=QUEUE, path=str(touched))
    wait_until(touched.exists, 25)
    done = workers.counts().get("Completed", 0)
    assert done < len(jobs), "the RQ job came last"
    wait_until(lambda: workers.counts().get("Completed", 0) > done + 1)


def test_a_worker_that_is_told_to_stop_gives_back_what_it_has_not_started(workers: BenchWorkers) -> None:
    workers.start()
    jobs = [workers.enqueue("test.sleep", {"seconds": 1, "steps": 5}) for _ in range(8)]
    workers.wait_for(jobs[0], "Running")
    workers.processes[0].terminate()
    workers.processes[0].wait(timeout=20)
    frappe.db.rollback()
    assert "Running" not in workers.counts()
    assert all(workers.get(job).attempts <= 1 for job in jobs)
    workers.replace_dead()
    tick()
    for job in jobs:
        assert workers.wait_for(job, seconds=40).attempts == 1


def test_jobs_wait_while_the_scheduler_is_off(workers: BenchWorkers) -> None:
    frappe.db.set_single_value("System Settings", "enable_scheduler", 0)
    frappe.db.commit()
    try:
        workers.start()
        job = workers.enqueue("test.effect")
        _wait_for_a_wake_up_to_be_taken(QUEUE)
        assert workers.get(job).status == Status.QUEUED
    finally:
        frappe.db.set_single_value("System Settings", "enable_scheduler", 1)
        frappe.db.commit()
    tick()
    workers.wait_for(job)


def test_the_database_may_be_restarted_in_the_middle(workers: BenchWorkers) -> None:
    script = Path(__file__).parents[3] / "scripts" / "site"
    server = "postgresql" if frappe.db.db_type == "postgres" else "mariadb"
    workers.start(2)
    jobs = engine().enqueue_many(
        "test.sleep",
        ({"seconds": 0.01, "steps": 1} for _ in range(600)),
        queue=QUEUE,
        organization=workers.organization,
    )
    frappe.db.commit()
    wait_until(lambda: workers.counts().get("Completed", 0) > 50)
    for verb in ("stop", "start"):
        subprocess.run([script, verb, server], check=True, stdout=sys.stderr)
    frappe.db.close()

    def done() -> bool:
        tick()
        return workers.counts() == {"Completed": len(jobs)}

    wait_until(done, 60)
    assert workers.effects() == {job.name: 1 for job in jobs}


def _wait_for_a_wake_up_to_be_taken(queue: str) -> None:
    wait_until(lambda: not redis_queue.connection().exists(wakeups.pending_key(queue, False)))
    wait_until(lambda: not redis_queue.connection().llen(redis_queue.rq_key(queue)))


def _only(values: list[int]) -> int:
    (value,) = values
    return value


def test_a_tick_finds_what_no_wake_up_told_of(workers: BenchWorkers) -> None:
    workers.start()
    job = workers.enqueue("test.effect", run_after=1)
    RunnersEngine.for_runners().store.promote()
    wait_until(lambda: (tick(), workers.get(job).status == Status.COMPLETED)[1], 20)
