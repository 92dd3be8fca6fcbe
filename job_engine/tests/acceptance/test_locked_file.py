"""SQLite has one writer at a time. Whoever holds the lock for long makes the others wait, and costs them nothing else."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import closing

import pytest

from job_engine import Engine, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import all_have_ended, has_started, is_now, outcome
from job_engine.tests.acceptance.waiting import until

JOBS = 20
WORKERS = 2


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    return sqlite_url


def test_a_file_that_somebody_else_keeps_locked_is_waited_for(
    database_url: str, engine: Engine, fleet: Fleet, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(handlers.BUSY_SECONDS, "0.3")  # for the workers: the default would make this test slow
    pool = fleet.start(WORKERS).ready()
    workers = pool.workers()
    held = engine.enqueue(handlers.HELD, {"gate": "done"})
    until(lambda: has_started(folder, held), "a job to run")
    made = engine.enqueue_many(handlers.EFFECT, [{"number": n} for n in range(JOBS)], run_after=0.5)
    with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"), isolation_level=None)) as somebody:
        somebody.execute("BEGIN IMMEDIATE")
        until(lambda: len(pool.said("store_away")) > WORKERS, "the pool to say that it waits")
        folder.open_gate("done")
        heard = len(pool.said("store_away"))
        until(lambda: len(pool.said("store_away")) > heard + WORKERS, "the pool to go on waiting")
        somebody.execute("ROLLBACK")

    until(lambda: all_have_ended(engine), "all jobs to end")
    jobs = [held, *(answer for answer in made)]
    assert Counter(outcome(engine, job) for job in jobs) == {(Status.COMPLETED, 1): len(jobs)}
    assert Counter(job for job, _, _ in effects.recorded(engine).elements()) == Counter(job.name for job in jobs)
    assert pool.is_alive and pool.workers() == workers


def test_a_long_transaction_of_one_handler_costs_no_other_worker_its_jobs(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    """Meanwhile nobody else can write, heartbeats included: a lease that expires then says nothing about its worker."""
    lease = 1.0
    pool = fleet.start(WORKERS, lease_seconds=lease, heartbeat_seconds=0.2)
    quiet = engine.enqueue(handlers.HELD, {"gate": "quiet"})
    until(lambda: has_started(folder, quiet), "the first job to start")
    writing = engine.enqueue(handlers.HELD, {"gate": "writing", "early_effect": True})
    started_at = until(lambda: has_started(folder, writing), "the second job to start")[0].at
    until(lambda: time.monotonic() > started_at + 3 * lease, "the leases to expire")
    folder.open_gate("writing")
    later = engine.enqueue(handlers.EFFECT, {"number": 1})
    until(lambda: is_now(engine, later, Status.COMPLETED), "others to write again")
    folder.open_gate("quiet")
    until(lambda: all_have_ended(engine), "all jobs to end")
    assert {outcome(engine, job) for job in (quiet, writing, later)} == {(Status.COMPLETED, 1)}
    assert not pool.said("worker_ended")
