"""A timeout works against any handler: an exception first, and after the grace period the end of its process."""

from __future__ import annotations

from collections import Counter

from job_engine import Engine, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import all_have_ended, ends_of_attempts, has_started, outcome
from job_engine.tests.acceptance.waiting import until

WORKERS = 2
NEIGHBOURS = 20


def test_no_handler_outlives_its_timeout_and_no_neighbour_is_charged(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    harmless = [{"number": n} for n in range(NEIGHBOURS)]
    params = [*harmless[:3], *({"way": way} for way in handlers.WAYS), *harmless[3:]]
    made = engine.enqueue_many(handlers.STUBBORN, params, timeout=1)
    jobs = {asked.get("way", asked.get("number")): answer for asked, answer in zip(params, made, strict=True)}
    pool = fleet.start(WORKERS).ready()
    until(lambda: all_have_ended(engine), "all jobs to end", limit=60)

    for way in handlers.WAYS:
        assert outcome(engine, jobs[way]) == (Status.COMPLETED, 2), way
        assert ends_of_attempts(engine, jobs[way]) == [Status.TIMED_OUT, Status.COMPLETED], way
        timed_out = next(t for t in engine.history(jobs[way].name) if t.to_status is Status.TIMED_OUT)
        assert "JobTimeout" in (timed_out.error or ""), way
    for n in range(NEIGHBOURS):
        assert outcome(engine, jobs[n]) == (Status.COMPLETED, 1)
    assert Counter(job for job, _, _ in effects.recorded(engine).elements()) == Counter(j.name for j in jobs.values())

    # Those that listen to an exception keep their process; those that do not lose it, and only those.
    assert len(pool.said("worker_killed")) == len(handlers.DEAF)
    assert pool.is_alive
    until(lambda: len(pool.workers()) == WORKERS, "the pool to have its size again")


def test_a_well_behaved_handler_gets_the_exception_and_cleans_up_before_its_dead_letter(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    job = engine.enqueue(handlers.LISTENING, timeout=1, max_attempts=1)
    pool = fleet.start()
    until(lambda: all_have_ended(engine), "the job to end")
    assert outcome(engine, job) == (Status.DEAD_LETTER, 1)
    assert "JobTimeout" in (engine.get(job.name).last_error or "")
    (started,), (told,), (cleaned,) = (folder.notes(w, job.name) for w in ("started", "JobTimeout", "cleaned"))
    assert 1.0 <= told.at - started.at < 3.0
    assert started.pid == told.pid == cleaned.pid
    assert not pool.said("worker_killed")


def test_a_handler_that_hangs_inside_a_statement_of_its_transaction_is_stopped(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    """On SQLite its open transaction keeps every other process from writing: the worse if it were not stopped in time."""
    stuck, neighbour = (
        answer for answer in engine.enqueue_many(handlers.STUBBORN, [{"way": "sql", "writes": True}, {}], timeout=1)
    )
    pool = fleet.start(WORKERS).ready()
    until(lambda: has_started(folder, stuck), "the job to start")
    until(lambda: all_have_ended(engine), "all jobs to end", limit=10)
    assert ends_of_attempts(engine, stuck) == [Status.TIMED_OUT, Status.COMPLETED]
    assert outcome(engine, neighbour) == (Status.COMPLETED, 1)
    assert Counter(job for job, _, _ in effects.recorded(engine).elements()) == Counter([stuck.name, neighbour.name])
    until(lambda: len(pool.workers()) == WORKERS, "the pool to have its size again")
