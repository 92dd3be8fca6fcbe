"""The database server is restarted, or killed, in the middle of the work. Workers say that they wait, and go on afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count

import pytest

from job_engine import Engine, Status
from job_engine.core.errors import StoreUnavailable
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet, Pool
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import all_have_ended
from job_engine.tests.acceptance.servers import OwnServer, own_server
from job_engine.tests.acceptance.waiting import until
from job_engine.tests.databases import KINDS

JOBS = 1000
WORKERS = 2


def params(number: int) -> dict[str, int]:
    return {"number": number, "most_milliseconds": 8}


@pytest.fixture(params=[pytest.param(kind, marks=getattr(pytest.mark, kind)) for kind in KINDS])
def server(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    request.getfixturevalue(f"{request.param}_url")  # skips, loudly, where this database is not tested at all
    with own_server(request.param) as server:
        yield server


@pytest.fixture
def database_url(server: OwnServer) -> str:
    return server.url


def check_that_all_ran_once(engine: Engine, names: Iterable[str]) -> None:
    completions = effects.completions(engine)
    assert Counter(job for job, _, _ in completions.elements()) == Counter(names)
    assert effects.recorded(engine) == completions
    # An outage is nobody's fault: no attempt is charged for it.
    jobs = engine.find(limit=100_000)
    assert Counter((job.status, job.attempts) for job in jobs) == {(Status.COMPLETED, 1): len(completions)}


def check_that_nobody_died(pool: Pool, workers: list[int]) -> None:
    assert pool.is_alive and pool.workers() == workers
    assert not pool.crashes()


@pytest.mark.slow
def test_a_restart_in_the_middle_of_a_drain_loses_nothing_and_doubles_nothing(
    server: OwnServer, engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    made = engine.enqueue_many(handlers.EFFECT, [params(n) for n in range(JOBS)])
    names = {answer.name for answer in made}
    pool = fleet.start(WORKERS).ready()
    workers = pool.workers()
    until(lambda: len(folder.notes("effect")) > JOBS // 10, "the drain to be under way")
    engine.close()
    server.stop()
    assert {note.job for note in folder.notes("effect")} < names, "the drain was over: this shows nothing"
    until(lambda: any(line["logger"] == "job_engine.worker" for line in pool.said("store_away")), "a worker to wait")
    server.start()
    until(lambda: all_have_ended(engine), "the drain to end", limit=60)
    check_that_all_ran_once(engine, names)
    check_that_nobody_died(pool, workers)


@pytest.mark.slow
def test_a_server_killed_in_the_middle_of_a_drain_keeps_what_it_confirmed_and_doubles_nothing(
    server: OwnServer, engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    confirmed = {answer.name for answer in engine.enqueue_many(handlers.EFFECT, [params(n) for n in range(JOBS)])}
    pool = fleet.start(WORKERS).ready()
    workers = pool.workers()

    def enqueue_until_the_end() -> None:
        with suppress(StoreUnavailable):
            for number in count(JOBS):
                confirmed.add(engine.enqueue(handlers.EFFECT, params(number)).name)
        engine.close()

    with ThreadPoolExecutor(1) as caller:
        calls = caller.submit(enqueue_until_the_end)
        until(lambda: len(folder.notes("effect")) > JOBS // 10, "the drain to be under way")
        engine.close()
        server.kill()
        calls.result()
    assert len(confirmed) > JOBS, "nobody enqueued when it was killed: this shows less than it says"
    assert {note.job for note in folder.notes("effect")} < confirmed, "the drain was over: this shows nothing"
    server.start()
    until(lambda: all_have_ended(engine), "the drain to end", limit=60)
    names = {job.name for job in engine.find(limit=100_000)}
    assert confirmed <= names
    assert len(names - confirmed) <= 1, "more than the one enqueue whose answer was lost"
    check_that_all_ran_once(engine, names)
    check_that_nobody_died(pool, workers)
