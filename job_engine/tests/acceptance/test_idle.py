"""An idle worker costs next to nothing and is quick all the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from job_engine import Engine, Job, Status
from job_engine.tests.acceptance import handlers
from job_engine.tests.acceptance.fleet import Fleet, cpu_seconds
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import is_now
from job_engine.tests.acceptance.waiting import until
from job_engine.worker import Worker

SECONDS = 3.0
MOST_CPU = 0.10  # of one core; a loop that does not wait takes all of it
PICKUP_SECONDS = 1.5  # the longest pause of a worker on MariaDB, which must be asked, is a third of that


def _enqueue_right_after(look: Callable[[int], int], engine: Engine, came: list[Job]) -> Callable[[int], int]:
    """As `look`, and a job comes between its first answer and what the worker does next."""

    def look_and_enqueue(max_jobs: int) -> int:
        ran = look(max_jobs)
        if not came:
            came.append(engine.enqueue(handlers.PLAIN, {"number": 1}))
        return ran

    return look_and_enqueue


def test_a_job_that_comes_right_after_the_first_look_is_not_missed(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[Job] = []
    with Engine.open(database_url) as workers_engine:
        worker = Worker(workers_engine, "idle")
        monkeypatch.setattr(worker.runner, "run_batch", _enqueue_right_after(worker.runner.run_batch, engine, came))
        thread = threading.Thread(target=worker.run, kwargs={"poll_seconds": 60.0, "max_jobs": 10})
        thread.start()
        try:
            until(lambda: came and is_now(engine, came[0], Status.COMPLETED), "the job to run", limit=10.0)
        finally:
            worker.stop()
            thread.join()


def test_an_idle_pool_costs_next_to_nothing_and_takes_a_job_at_once(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    pool = fleet.start(tick_seconds=1.0).ready()
    first = engine.enqueue(handlers.EFFECT, {"number": 1})
    until(lambda: is_now(engine, first, Status.COMPLETED), "the pool to be at work")

    processes = [pool.pid, *pool.workers()]
    began, used = time.monotonic(), [cpu_seconds(pid) for pid in processes]
    until(lambda: time.monotonic() > began + SECONDS, "some idle time to pass")
    idle = time.monotonic() - began
    for pid, before in zip(processes, used, strict=True):
        assert (cpu_seconds(pid) - before) / idle < MOST_CPU

    enqueued = time.monotonic()
    second = engine.enqueue(handlers.EFFECT, {"number": 2})
    (note,) = until(lambda: folder.notes("effect", second.name), "the job to start")
    assert note.at - enqueued < PICKUP_SECONDS
