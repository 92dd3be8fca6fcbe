"""A job that takes its worker with it is charged for that, its neighbours are not, and it cannot do so for ever."""

from __future__ import annotations

import signal
from collections import Counter

from job_engine import Engine, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet, kill, pid_of
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import all_have_ended, ends_of_attempts, has_started
from job_engine.tests.acceptance.waiting import until

WORKERS = 2
NEIGHBOURS = 40


def test_a_handler_that_kills_its_process_each_time_ends_in_dead_letter_and_harms_no_neighbour(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    harmless = [{"number": n} for n in range(NEIGHBOURS)]
    params = [*harmless[:3], *({"ending": ending} for ending in handlers.ENDINGS), *harmless[3:]]
    jobs = [answer for answer in engine.enqueue_many(handlers.DEADLY, params)]
    pool = fleet.start(WORKERS)
    until(lambda: all_have_ended(engine), "all jobs to end", limit=60)

    guilty = [engine.get(job.name) for job, asked in zip(jobs, params, strict=True) if "ending" in asked]
    neighbours = [engine.get(job.name) for job, asked in zip(jobs, params, strict=True) if "ending" not in asked]
    for job in guilty:
        assert (job.status, job.attempts, job.reason) == (Status.DEAD_LETTER, job.max_attempts, "worker lost")
        assert len(folder.notes("started", job.name)) == job.max_attempts
    assert Counter((job.status, job.attempts) for job in neighbours) == {(Status.COMPLETED, 1): NEIGHBOURS}
    assert Counter(job for job, _, _ in effects.recorded(engine).elements()) == Counter(j.name for j in neighbours)

    assert pool.is_alive
    until(lambda: len(pool.workers()) == WORKERS, "the pool to have its size again")


def test_a_worker_killed_on_the_last_attempt_leaves_its_job_in_dead_letter(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    job = engine.enqueue(handlers.HELD, {"gate": "never"}, max_attempts=1)
    fleet.start()
    worker = until(lambda: has_started(folder, job), "the job to start")[0].pid
    kill(worker, signal.SIGKILL)
    until(lambda: all_have_ended(engine), "the job to end")

    ended = engine.get(job.name)
    assert (ended.status, ended.attempts, ended.reason) == (Status.DEAD_LETTER, 1, "worker lost")
    assert ends_of_attempts(engine, job) == [Status.DEAD_LETTER]
    assert not effects.recorded(engine)


def test_a_machine_lost_on_the_last_attempt_leaves_its_job_in_dead_letter_when_the_lease_expires(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    job = engine.enqueue(handlers.HELD, {"gate": "never"}, max_attempts=1)
    pool = fleet.start(lease_seconds=1.0)
    until(lambda: has_started(folder, job), "the job to start")
    workers = pool.workers()
    pool.kill()
    for pid in workers:
        kill(pid, signal.SIGKILL)
    assert engine.get(job.name).status is Status.RUNNING

    fleet.start()
    until(lambda: all_have_ended(engine), "the job to end")
    ended = engine.get(job.name)
    assert (ended.status, ended.attempts, ended.reason) == (Status.DEAD_LETTER, 1, "worker lost")


def test_a_worker_killed_while_it_waits_for_work_costs_nothing(engine: Engine, fleet: Fleet) -> None:
    pool = fleet.start(WORKERS).ready()
    for line in pool.said("worker_started"):
        kill(pid_of(line["worker"]), signal.SIGKILL)
    jobs = [answer for answer in engine.enqueue_many(handlers.EFFECT, [{"number": n} for n in range(20)])]
    until(lambda: all_have_ended(engine), "all jobs to end")
    assert Counter((engine.get(j.name).status, engine.get(j.name).attempts) for j in jobs) == {
        (Status.COMPLETED, 1): 20
    }
    until(lambda: len(pool.workers()) == WORKERS, "the pool to have its size again")
