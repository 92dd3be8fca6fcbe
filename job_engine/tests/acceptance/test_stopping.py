"""SIGTERM, a second SIGTERM, and a supervisor that is simply gone."""

from __future__ import annotations

import time

from job_engine import Engine, Job, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import all_have_ended, has_started, is_now, outcome
from job_engine.tests.acceptance.waiting import until

NEIGHBOURS = 5
PATIENT = {"grace_seconds": 30.0}
WAYS_TO_GO_ON = ("wait for an event", *handlers.DEAF)


def _one_and_its_neighbours(engine: Engine, job_type: str, first: dict[str, object]) -> tuple[Job, list[Job]]:
    """A job that runs for long, and those that its worker claims together with it."""
    made = engine.enqueue_many(job_type, [first, *({"number": n} for n in range(1, NEIGHBOURS + 1))])
    return made[0], [answer for answer in made[1:]]


def _assert_given_back(engine: Engine, *jobs: Job) -> None:
    """As if they had never been claimed."""
    for job in jobs:
        assert outcome(engine, job) == (Status.QUEUED, 0)
        assert engine.get(job.name).lease_owner is None


def test_an_idle_pool_stops_at_once(engine: Engine, fleet: Fleet) -> None:
    pool = fleet.start(2, poll=60, **PATIENT).ready()
    first = engine.enqueue(handlers.PLAIN, {"number": 1})
    until(lambda: is_now(engine, first, Status.COMPLETED), "the pool to be at work")
    told_at = time.monotonic()
    pool.terminate()
    assert pool.exit_code() == 0
    assert time.monotonic() - told_at < PATIENT["grace_seconds"] / 3
    assert not pool.said("worker_killed")


def test_sigterm_finishes_the_current_job_and_gives_back_what_has_not_started(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    job, neighbours = _one_and_its_neighbours(engine, handlers.HELD, {"gate": "done"})
    pool = fleet.start(**PATIENT)
    until(lambda: has_started(folder, job), "the job to start")
    pool.terminate()
    until(lambda: all(is_now(engine, n, Status.QUEUED) for n in neighbours), "the neighbours to be given back")
    assert pool.is_alive and is_now(engine, job, Status.RUNNING)
    folder.open_gate("done")
    assert pool.exit_code() == 0
    assert outcome(engine, job) == (Status.COMPLETED, 1)
    _assert_given_back(engine, *neighbours)
    assert not fleet.processes()


def test_sigterm_gives_back_jobs_that_are_longer_than_the_grace_period(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    long = [engine.enqueue(handlers.STUBBORN, {"way": way}) for way in WAYS_TO_GO_ON]
    pool = fleet.start(len(long))
    until(lambda: all(has_started(folder, job) for job in long), "all jobs to start")
    pool.terminate()
    assert pool.exit_code() == 0
    _assert_given_back(engine, *long)
    assert not effects.recorded(engine)
    assert not fleet.processes()


def test_a_second_sigterm_stops_at_once_and_gives_everything_back(engine: Engine, fleet: Fleet, folder: Folder) -> None:
    job, neighbours = _one_and_its_neighbours(engine, handlers.STUBBORN, {"way": "swallow"})
    pool = fleet.start(**PATIENT)
    until(lambda: has_started(folder, job), "the job to start")
    pool.terminate()
    until(lambda: all(is_now(engine, n, Status.QUEUED) for n in neighbours), "the first signal to be heard")
    assert pool.is_alive
    again_at = time.monotonic()
    pool.terminate()
    assert pool.exit_code() == 0
    assert time.monotonic() - again_at < PATIENT["grace_seconds"] / 3
    _assert_given_back(engine, job, *neighbours)
    assert not fleet.processes()


def test_workers_whose_supervisor_was_killed_finish_what_they_have_and_end(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    job, neighbours = _one_and_its_neighbours(engine, handlers.HELD, {"gate": "done"})
    pool = fleet.start(**PATIENT)
    until(lambda: has_started(folder, job), "the job to start")
    pool.kill()
    until(lambda: all(is_now(engine, n, Status.QUEUED) for n in neighbours), "the worker to notice")
    folder.open_gate("done")
    until(lambda: not fleet.processes(), "the worker to end")
    assert outcome(engine, job) == (Status.COMPLETED, 1)
    _assert_given_back(engine, *neighbours)

    fleet.start()
    until(lambda: all_have_ended(engine), "another pool to do the rest")
    assert {outcome(engine, n) for n in neighbours} == {(Status.COMPLETED, 1)}


def test_a_sleeping_job_of_a_killed_supervisor_is_given_back_after_the_grace_period(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    job = engine.enqueue(handlers.STUBBORN, {"way": "wait for an event"})
    pool = fleet.start()
    until(lambda: has_started(folder, job), "the job to start")
    pool.kill()
    until(lambda: not fleet.processes(), "the worker to end")
    _assert_given_back(engine, job)


def test_deaf_handlers_whose_supervisor_was_killed_end_all_the_same(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    """Nobody is left to kill the worker from outside, and a job that its keeper holds for ever would never run again."""
    jobs = [engine.enqueue(handlers.STUBBORN, {"way": way}, timeout=2) for way in handlers.DEAF]
    pool = fleet.start(len(jobs))
    until(lambda: all(has_started(folder, job) for job in jobs), "all jobs to start")
    pool.kill()
    until(lambda: not fleet.processes(), "the workers to end")

    fleet.start(len(jobs))
    until(lambda: all(len(has_started(folder, job)) == 2 for job in jobs), "all jobs to run elsewhere")
