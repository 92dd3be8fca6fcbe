"""A heartbeat takes as long as the database takes. Its answer is about the batch it was asked for, and no other."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from job_engine import JobContext
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.store.leasing import Held
from job_engine.tests.acceptance.waiting import LIMIT
from job_engine.tests.clock import FrozenClock
from job_engine.tests.integration.conftest import OpenEngine


def test_a_late_heartbeat_of_one_batch_does_not_forget_the_next(
    open_engine: OpenEngine, registry: Registry, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(heartbeat_seconds=0.01)
    heartbeat = engine.store.heartbeat
    asked, answered, next_claimed = threading.Event(), threading.Event(), threading.Event()

    def answer_late(worker_id: str, names: Sequence[str]) -> list[Held]:
        held = heartbeat(worker_id, names)
        if asked.is_set():
            answered.set()  # the keeper asks again: it has drawn its conclusions from the late answer
        else:
            asked.set()
            assert next_claimed.wait(LIMIT)
        return held

    @registry.job("work")
    def work(number: int) -> None:
        if number == 0:
            assert asked.wait(LIMIT)
        elif number == 1:
            next_claimed.set()
            assert answered.wait(LIMIT)

    jobs = []
    for number in range(3):
        jobs.append(engine.enqueue("work", {"number": number}))
        clock.advance(1)
    monkeypatch.setattr(engine.store, "heartbeat", answer_late)
    runner = engine._runner(None)
    assert runner.run_batch(1) == 1
    runner.run_batch(2)
    engine.run_once()  # on a slow machine the keeper has given back the last one, which is nobody's loss
    for job in jobs:
        after = engine.get(job.name)
        assert (after.status, after.attempts, after.lost) == (Status.COMPLETED, 1, 0), after.last_error


def test_a_claim_that_was_taken_from_the_worker_is_not_started(
    open_engine: OpenEngine, registry: Registry, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(heartbeat_seconds=0.01)
    heartbeat = engine.store.heartbeat
    taken, drawn = threading.Event(), threading.Event()
    answers: list[list[Held]] = []  # since it was taken

    def count(worker_id: str, names: Sequence[str]) -> list[Held]:
        if answers:
            drawn.set()
        was_taken = taken.is_set()
        held = heartbeat(worker_id, names)
        if was_taken:
            answers.append(held)
        return held

    started: list[tuple[int, int]] = []

    @registry.job("work")
    def work(ctx: JobContext, number: int) -> None:
        started.append((number, ctx.attempt))
        if number == 0:
            engine.store.release(second.name, runner.worker_id, 1)
            taken.set()
            assert drawn.wait(LIMIT)

    first = engine.enqueue("work", {"number": 0})
    clock.advance(1)
    second = engine.enqueue("work", {"number": 1})
    monkeypatch.setattr(engine.store, "heartbeat", count)
    runner = engine._runner(None)
    assert runner.run_batch(2) == 1
    assert started == [(0, 1)]
    engine.run_once()
    assert started == [(0, 1), (1, 1)]
    assert {engine.get(job.name).status for job in (first, second)} == {Status.COMPLETED}
