"""A running job that somebody cancels is told within two seconds, and stopped whether it listens or not."""

from __future__ import annotations

import time

from job_engine import Engine, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import all_have_ended, has_started, outcome
from job_engine.tests.acceptance.waiting import until

TOLD_SECONDS = 2.0


def test_running_jobs_are_canceled_whether_they_ask_sleep_or_do_not_listen(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    asking = engine.enqueue(handlers.LISTENING, {"asks": True})
    sleeping = engine.enqueue(handlers.LISTENING)
    deaf = engine.enqueue(handlers.STUBBORN, {"way": "swallow"})
    holding = engine.enqueue(handlers.STUBBORN, {"way": "hold the interpreter"})
    running = [asking, sleeping, deaf, holding]
    children = [engine.enqueue(handlers.HELD, {"number": n}, depends_on=job) for n, job in enumerate(running)]
    grandchild = engine.enqueue(handlers.HELD, depends_on=children[0])

    pool = fleet.start(len(running)).ready()
    until(lambda: all(has_started(folder, job) for job in running), "all jobs to run")
    asked_at = time.monotonic()
    for job in running:
        assert engine.cancel(job.name, by="operator@example.com").status is Status.RUNNING
    until(lambda: all_have_ended(engine), "all jobs to end")

    for job in running:
        assert outcome(engine, job) == (Status.CANCELED, 1)
        assert engine.get(job.name).canceled_by == "operator@example.com"
    for job in (asking, sleeping):
        (told,) = folder.notes("JobCanceled", job.name)
        assert told.at - asked_at < TOLD_SECONDS
        assert folder.notes("cleaned", job.name)
    for job in [*children, grandchild]:
        assert outcome(engine, job) == (Status.CANCELED, 0)
        assert "depends on" in (engine.get(job.name).reason or "")
    assert not effects.recorded(engine)
    until(lambda: len(pool.workers()) == len(running), "the pool to have its size again")


def test_a_canceled_job_does_not_take_its_worker_s_next_jobs_along(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    """The order to stop is for one attempt: whatever runs next in that process must not get it."""
    fleet.start(cancel_check_seconds=0.02)
    canceled = []
    for n in range(20):
        job = engine.enqueue(handlers.LISTENING, {"asks": True}, dedup_window=0)
        engine.enqueue_many(handlers.EFFECT, [{"number": n * 100 + i} for i in range(20)])
        until(lambda job=job: has_started(folder, job), "the job to start")
        engine.cancel(job.name)
        canceled.append(job)
    until(lambda: all_have_ended(engine), "all jobs to end")
    assert {outcome(engine, job)[0] for job in canceled} == {Status.CANCELED}
    assert engine.count(status=Status.CANCELED) == len(canceled)
    assert engine.count(status=Status.COMPLETED) == 400
