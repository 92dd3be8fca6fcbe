"""The database goes away in the middle of the work. Workers say that they wait, and go on when it is back."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from job_engine import Engine, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.conftest import SETTINGS
from job_engine.tests.acceptance.fleet import Fleet, Pool
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import all_have_ended, has_started, outcome
from job_engine.tests.acceptance.servers import OwnServer, own_server
from job_engine.tests.acceptance.waiting import until

JOBS = 1000
WORKERS = 2


@pytest.fixture(params=[pytest.param(k, marks=getattr(pytest.mark, k)) for k in ("postgresql", "mariadb")])
def server(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    request.getfixturevalue(f"{request.param}_url")  # skips, loudly, where this database is not tested at all
    with own_server(request.param) as server:
        yield server


@pytest.mark.slow
def test_a_restart_of_the_server_in_the_middle_of_a_drain_loses_nothing_and_doubles_nothing(
    server: OwnServer, folder: Folder
) -> None:
    url = server.url
    with closing(Engine.open(url, **SETTINGS)) as engine:
        effects.create_table(engine)
        made = engine.enqueue_many(handlers.EFFECT, [{"number": n, "most_milliseconds": 8} for n in range(JOBS)])
        names = {answer.job.name for answer in made}
    fleet = Fleet(url, folder, SETTINGS)
    try:
        pool = fleet.start(WORKERS).ready()
        until(lambda: len(folder.notes("effect")) > JOBS // 10, "the drain to be under way")
        workers = pool.workers()
        server.stop()
        until(lambda: _waits(pool, workers), "every worker to say that it waits")
        before = len({note.job for note in folder.notes("effect")})
        server.start()
        with closing(Engine.open(url, **SETTINGS)) as engine:
            until(lambda: all_have_ended(engine), "the drain to end", limit=60)
            completions = effects.completions(engine)
            assert Counter(job for job, _, _ in completions.elements()) == Counter(names)
            assert effects.recorded(engine) == completions
            charges = Counter(outcome(engine, answer.job) for answer in made)
        assert before < JOBS, "the drain was over: this has shown nothing"
        # The same processes as before: nobody died of it.
        assert pool.is_alive and pool.workers() == workers
        assert not pool.crashes()
        # An outage is nobody's fault: no attempt is charged for it.
        assert charges == {(Status.COMPLETED, 1): JOBS}
    finally:
        fleet.close()


def _waits(pool: Pool, workers: list[int]) -> bool:
    said = {line["message"] for line in pool.said("store_away") if "Trying again" in line["message"]}
    return bool(said) and len(pool.said("store_away")) > len(workers)


def test_a_database_file_that_somebody_else_keeps_locked_is_waited_for(
    sqlite_url: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(handlers.BUSY_SECONDS, "0.3")  # for the workers: the default would make this test slow
    with closing(Engine.open(sqlite_url, **SETTINGS)) as engine:
        effects.create_table(engine)
        fleet = Fleet(sqlite_url, folder, SETTINGS)
        try:
            pool = fleet.start(WORKERS).ready()
            workers = pool.workers()
            held = engine.enqueue(handlers.HELD, {"gate": "done"})
            until(lambda: has_started(folder, held), "a job to run")
            made = engine.enqueue_many(handlers.EFFECT, [{"number": n} for n in range(20)], run_after=0.5)
            with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as somebody:
                somebody.execute("BEGIN IMMEDIATE")
                until(lambda: len(pool.said("store_away")) >= 3, "the pool to say that it waits")
                folder.open_gate("done")
                heard = len(pool.said("store_away"))
                until(lambda: len(pool.said("store_away")) > heard + 2, "the pool to go on waiting")
                somebody.execute("ROLLBACK")
            until(lambda: all_have_ended(engine), "all jobs to end")
            assert pool.is_alive and pool.workers() == workers
            assert {outcome(engine, answer.job) for answer in made} == {(Status.COMPLETED, 1)}
            assert outcome(engine, held) == (Status.COMPLETED, 1)
            recorded = Counter(job for job, _, _ in effects.recorded(engine).elements())
            assert recorded == Counter([held.name, *(answer.job.name for answer in made)])
        finally:
            fleet.close()


def test_a_long_transaction_of_one_handler_costs_no_other_worker_its_jobs(sqlite_url: str, folder: Folder) -> None:
    """On SQLite nobody else can write meanwhile, heartbeats included: a lease that expires then says nothing."""
    lease = 1.0
    with closing(Engine.open(sqlite_url, **SETTINGS)) as engine:
        effects.create_table(engine)
        fleet = Fleet(sqlite_url, folder, {**SETTINGS, "lease_seconds": lease, "heartbeat_seconds": 0.2})
        try:
            fleet.start(2)
            quiet = engine.enqueue(handlers.HELD, {"gate": "quiet"})
            until(lambda: has_started(folder, quiet), "the first job to start")
            writing = engine.enqueue(handlers.HELD, {"gate": "writing", "early_effect": True})
            started = until(lambda: has_started(folder, writing), "the second job to start")[0].at
            until(lambda: time.monotonic() > started + 3 * lease, "the leases to expire")
            folder.open_gate("writing")
            later = engine.enqueue(handlers.EFFECT, {"number": 1})
            until(lambda: outcome(engine, later) == (Status.COMPLETED, 1), "another job to complete")
            folder.open_gate("quiet")
            until(lambda: all_have_ended(engine), "all jobs to end")
            assert outcome(engine, writing) == (Status.COMPLETED, 1)
            assert outcome(engine, quiet) == (Status.COMPLETED, 1)
        finally:
            fleet.close()
