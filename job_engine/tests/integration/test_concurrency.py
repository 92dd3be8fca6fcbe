"""Everybody at once: workers, callers and operators on the same few jobs. Nobody sees a deadlock, and the books balance."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from job_engine.core.errors import IllegalTransition, InvalidJob, JobNotFound, LeaseLost
from job_engine.core.registry import Registry
from job_engine.core.states import ENDED, Status
from job_engine.engine import Engine
from job_engine.tests.clock import FrozenClock
from job_engine.tests.ledger import check_ledger
from job_engine.tests.parallel import at_once

OPERATIONS = 60
# What can happen to one whom another was quicker than. Anything else, a deadlock above all, is not the caller's to see.
LOST_THE_RACE = (IllegalTransition, LeaseLost, JobNotFound, InvalidJob)


@pytest.mark.parametrize("seed", [1, 2])
def test_workers_callers_and_operators_get_along(
    engine: Engine, registry: Registry, clock: FrozenClock, seed: int
) -> None:
    for job_type in "ab":
        registry.job(job_type)(lambda **params: None)
    engine.limit("type", "a", concurrency=6)
    shared: list[str] = [engine.enqueue("a", {"n": n}, organization="ACME").name for n in range(10)]
    rounds = [lambda s=seed * 100 + i: _take_part(engine, clock, shared, random.Random(s)) for i in range(5)]
    at_once(rounds, after=engine.store.close)
    check_ledger(engine)
    completed = [name for name in set(shared) if _completions(engine, name) > 1]
    assert completed == []


def _take_part(engine: Engine, clock: FrozenClock, shared: list[str], rng: random.Random) -> None:
    worker = f"w{rng.random()}"
    held: list[tuple[str, int]] = []
    for _ in range(OPERATIONS):
        act = rng.choice([_enqueue, _enqueue, _claim, _claim, _claim, _finish, _finish, _finish, _steer, _tick])
        with suppress(*LOST_THE_RACE):
            act(engine, clock, shared, rng, worker, held)


Held = list[tuple[str, int]]


def _enqueue(
    engine: Engine, clock: FrozenClock, shared: list[str], rng: random.Random, worker: str, held: Held
) -> None:
    parents = rng.sample(shared[-10:], rng.randint(0, 2))
    params = [{"n": rng.randrange(40)} for _ in range(rng.randint(1, 5))]
    key = rng.choice([None, None, f"k{rng.randrange(5)}"])
    made = engine.enqueue_many(rng.choice("ab"), params, organization="ACME", depends_on=parents, dedup_key=key)
    shared += [answer.name for answer in made]


def _claim(engine: Engine, clock: FrozenClock, shared: list[str], rng: random.Random, worker: str, held: Held) -> None:
    held += [(job.name, job.attempts) for job in engine.store.claim_batch(worker, rng.randint(1, 4))]


def _finish(engine: Engine, clock: FrozenClock, shared: list[str], rng: random.Random, worker: str, held: Held) -> None:
    if not held:
        return
    name, attempt = held.pop(rng.randrange(len(held)))
    store: Any = engine.store
    ends: list[Callable[[], Any]] = [
        lambda: store.mark_success(name, worker, attempt),
        lambda: store.mark_success(name, worker, attempt),
        lambda: store.mark_retry(name, worker, attempt, clock.now, "ConnectionError: gone"),
        lambda: store.mark_failed(name, worker, attempt, "ValueError: no"),
        lambda: store.release(name, worker, attempt),
        lambda: store.end_lost_attempt(name, worker, attempt),
    ]
    rng.choice(ends)()


def _steer(engine: Engine, clock: FrozenClock, shared: list[str], rng: random.Random, worker: str, held: Held) -> None:
    name = rng.choice(shared)
    rng.choice([lambda: engine.cancel(name), lambda: engine.retry(name), lambda: engine.get(name)])()


def _tick(engine: Engine, clock: FrozenClock, shared: list[str], rng: random.Random, worker: str, held: Held) -> None:
    engine.tick()
    engine.store.heartbeat(worker, [name for name, _ in held])
    if rng.random() < 0.2:
        engine.store.prune(rng.choice(sorted(ENDED)), clock.now + timedelta(seconds=1))


def _completions(engine: Engine, name: str) -> int:
    try:
        return sum(t.to_status is Status.COMPLETED for t in engine.history(name))
    except JobNotFound:
        return 0  # pruned
