"""A beacon tells the supervisor what runs and what to kill: never the wrong attempt, never one that has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from job_engine.beacon import Beacon, Seen
from job_engine.core.errors import Interrupt, JobCanceled, JobLeaseLost, JobTimeout, WorkerStopping
from job_engine.core.fingerprint import new_names
from job_engine.core.registry import Registry
from job_engine.engine import Engine
from job_engine.runner import Runner
from job_engine.store import finishing

NAME, OTHER = new_names(2)
DEADLINE, KILL_AT = 100.0, 110.0


@pytest.fixture
def beacon() -> Iterator[Beacon]:
    with Beacon.memory() as descriptor:
        beacon = Beacon(descriptor)
    yield beacon
    beacon.close()


def test_a_new_beacon_and_a_hidden_one_show_nothing(beacon: Beacon) -> None:
    assert beacon.look() is None
    beacon.show(NAME, 1, DEADLINE)
    beacon.hide()
    assert beacon.look() is None


def test_it_shows_the_attempt_and_its_deadline(beacon: Beacon) -> None:
    beacon.show(NAME, 3, DEADLINE)
    assert beacon.look() == Seen(NAME, 3, DEADLINE, None, None)
    beacon.show(NAME, 3, None)
    assert beacon.look() == Seen(NAME, 3, None, None, None)


def test_two_beacons_on_one_memory_see_the_same() -> None:
    with Beacon.memory() as descriptor:
        worker, supervisor = Beacon(descriptor), Beacon(descriptor)
    worker.show(NAME, 1, DEADLINE)
    assert supervisor.look() == worker.look() != None  # noqa: E711 - both see it, not both nothing
    worker.close()
    supervisor.close()


@pytest.mark.parametrize("why", [JobTimeout, JobCanceled, WorkerStopping, JobLeaseLost])
def test_the_condemned_attempt_is_to_be_killed_for_its_reason(beacon: Beacon, why: type[Interrupt]) -> None:
    beacon.show(NAME, 1, DEADLINE)
    beacon.condemn(NAME, 1, why(), KILL_AT)
    assert beacon.look() == Seen(NAME, 1, DEADLINE, KILL_AT, why)


@pytest.mark.parametrize(("name", "attempt"), [(OTHER, 1), (NAME, 2)], ids=["another job", "another attempt"])
def test_a_condemnation_that_comes_too_late_hits_nobody_else(beacon: Beacon, name: str, attempt: int) -> None:
    beacon.show(name, attempt, DEADLINE)
    beacon.condemn(NAME, 1, JobCanceled(), KILL_AT)
    assert beacon.look() == Seen(name, attempt, DEADLINE, None, None)


def test_the_same_attempt_shown_again_is_not_condemned_any_more(beacon: Beacon) -> None:
    """A job that was canceled and is retried by hand begins with attempt 1 again."""
    beacon.show(NAME, 1, DEADLINE)
    beacon.condemn(NAME, 1, JobCanceled(), KILL_AT)
    beacon.hide()
    beacon.show(NAME, 1, DEADLINE)
    assert beacon.look() == Seen(NAME, 1, DEADLINE, None, None)


def test_an_outcome_that_waits_for_the_database_has_no_deadline(
    beacon: Beacon, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler has returned in time: that its commit takes longer is no reason to kill the worker."""
    registry = Registry()
    seen: dict[str, Seen | None] = {}
    registry.job("quick", timeout=60)(lambda: seen.update(running=beacon.look()))
    finish = finishing.finish

    def look_and_finish(*arguments: Any) -> set[str]:
        seen.update(ended=beacon.look())
        return finish(*arguments)

    monkeypatch.setattr(finishing, "finish", look_and_finish)
    with Engine.open(sqlite_url, registry=registry) as engine:
        runner = Runner(engine, "worker", beacon=beacon)
        job = engine.enqueue("quick")
        assert runner.run_batch(1) == 1
        runner.close()
    running, ended = seen["running"], seen["ended"]
    assert running is not None and (running.name, running.attempt) == (job.name, 1) and running.deadline is not None
    assert ended == Seen(job.name, 1, None, None, None)
