"""Bring a job into any state, and a worker's claim into any way of being lost. What the store's contract is written with."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from job_engine.core.job import Job, Outcome
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.store.sql import SqlStore
from job_engine.tests.clock import FrozenClock

LATER = 100.0  # seconds; longer than any lease here
Store = SqlStore  # the shape of the port
Claim = tuple[str, str, int]  # name, worker, attempt: what every call that ends an attempt begins with


class Case:
    """A store with its clock, and short ways to bring a job into any state."""

    def __init__(self, store: Store, engine: Engine, clock: FrozenClock):
        self.store, self.engine, self.clock = store, engine, clock
        self._n = 0

    def enqueue(self, job_type: str = "work", **options: Any) -> Job:
        self._n += 1
        return self.engine.enqueue(job_type, {"n": self._n}, **options)

    def claimed(self, worker: str = "w1", **options: Any) -> Claim:
        job = self.enqueue(**options)
        assert job.name in [claimed.name for claimed in self.store.claim_batch(worker, 1)]
        return job.name, worker, 1

    def status(self, name: str) -> Status:
        job = self.store.get(name)
        assert job is not None
        return job.status

    def job_that_is(self, status: Status) -> str:
        """The name of a job in this state."""
        if status is Status.PENDING:
            return self.enqueue(run_after=3600).name
        if status is Status.QUEUED:
            return self.enqueue().name
        claim = self.claimed()
        name = claim[0]
        if status is Status.COMPLETED:
            self.store.mark_success(*claim)
        elif status is Status.FAILED:
            self.store.mark_retry(*claim, self.clock.now + timedelta(hours=1), "later")
        elif status is Status.DEAD_LETTER:
            self.store.mark_failed(*claim, "broken")
        elif status is Status.TIMED_OUT:
            self._end(claim, Status.TIMED_OUT)
        elif status is Status.CANCELED:
            self.store.cancel(name)
            self._end(claim, Status.CANCELED)
        assert self.status(name) is status
        return name

    def _end(self, claim: Claim, status: Status) -> None:
        name, worker, attempt = claim
        run_after = self.clock.now + timedelta(hours=1)
        assert self.store.finish(worker, [Outcome(name, attempt, status, 1.0, "work", run_after=run_after)]) == set()


# How a worker can come to hold a claim that is not its own any more --------------------------------------------------


def _of_another_worker(c: Case) -> Claim:
    name, _, attempt = c.claimed()
    return name, "w2", attempt


def _of_an_earlier_attempt(c: Case) -> Claim:
    name, worker, attempt = c.claimed()
    c.store.mark_retry(name, worker, attempt, c.clock.now, "once more")
    c.store.promote()
    assert [job.name for job in c.store.claim_batch(worker, 1)] == [name]
    return name, worker, attempt


def _of_a_later_attempt(c: Case) -> Claim:
    name, worker, attempt = c.claimed()
    return name, worker, attempt + 1


def _rescued(c: Case) -> Claim:
    claim = c.claimed()
    c.clock.advance(LATER)
    assert c.store.rescue() == 1
    return claim


def _rescued_and_claimed_by_another(c: Case) -> Claim:
    claim = _rescued(c)
    assert [job.name for job in c.store.claim_batch("w2", 1)] == [claim[0]]
    return claim


def _rescued_for_good(c: Case) -> Claim:
    claim = c.claimed(max_attempts=1)
    c.clock.advance(LATER)
    assert c.store.rescue() == 1
    return claim


def _released(c: Case) -> Claim:
    claim = c.claimed()
    c.store.release(*claim)
    return claim


def _completed(c: Case) -> Claim:
    claim = c.claimed()
    c.store.mark_success(*claim)
    return claim


def _dead(c: Case) -> Claim:
    claim = c.claimed()
    c.store.mark_failed(*claim, "it is broken")
    return claim


def _waiting_for_its_next_try(c: Case) -> Claim:
    claim = c.claimed()
    c.store.mark_retry(*claim, c.clock.now + timedelta(hours=1), "later")
    return claim


def _never_claimed(c: Case) -> Claim:
    return c.enqueue().name, "w1", 0


def _canceled_before_it_was_claimed(c: Case) -> Claim:
    name = c.enqueue().name
    c.store.cancel(name)
    return name, "w1", 0


LOSING = [
    _of_another_worker,
    _of_an_earlier_attempt,
    _of_a_later_attempt,
    _rescued,
    _rescued_and_claimed_by_another,
    _rescued_for_good,
    _released,
    _completed,
    _dead,
    _waiting_for_its_next_try,
    _never_claimed,
    _canceled_before_it_was_claimed,
]
