"""The database server is restarted in the middle of the work. Workers say that they wait, and go on when it is back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from job_engine import Engine, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import all_have_ended, outcome
from job_engine.tests.acceptance.servers import OwnServer, own_server
from job_engine.tests.acceptance.waiting import until
from job_engine.tests.databases import KINDS

JOBS = 1000
WORKERS = 2


@pytest.fixture(params=[pytest.param(kind, marks=getattr(pytest.mark, kind)) for kind in KINDS])
def server(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    request.getfixturevalue(f"{request.param}_url")  # skips, loudly, where this database is not tested at all
    with own_server(request.param) as server:
        yield server


@pytest.fixture
def database_url(server: OwnServer) -> str:
    return server.url


@pytest.mark.slow
def test_a_restart_in_the_middle_of_a_drain_loses_nothing_and_doubles_nothing(
    server: OwnServer, engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    made = engine.enqueue_many(handlers.EFFECT, [{"number": n, "most_milliseconds": 8} for n in range(JOBS)])
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

    completions = effects.completions(engine)
    assert Counter(job for job, _, _ in completions.elements()) == Counter(names)
    assert effects.recorded(engine) == completions
    # The same processes as before: nobody died of it.
    assert pool.is_alive and pool.workers() == workers
    assert not pool.crashes()
    # An outage is nobody's fault: no attempt is charged for it.
    assert Counter(outcome(engine, answer) for answer in made) == {(Status.COMPLETED, 1): JOBS}
