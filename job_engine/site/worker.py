"""A worker of `bench job-engine work`: the engine's own worker loop in a site, without RQ."""

from __future__ import annotations

import time

import frappe
import redis

from job_engine.beacon import Beacon
from job_engine.site import redis_queue, wakeups
from job_engine.site.engines import RunnersEngine
from job_engine.site.outages import told_as_unavailable
from job_engine.site.surroundings import site_waits
from job_engine.store.waiting import BackoffWaiter, Waiter
from job_engine.worker import Worker

LOOK_SECONDS = 1.0
LISTEN_SECONDS = 0.25  # a signal does not end the wait for Redis


class SiteWorker(Worker):
    """Waits while the site is under maintenance, and listens to the same wake-ups as a runner that lingers."""

    engine: RunnersEngine

    def __init__(self, engine: RunnersEngine, worker_id: str, queues: tuple[str, ...], beacon: Beacon):
        super().__init__(engine, worker_id, queues, beacon)
        self._next_look = 0.0
        self._site_waits = False

    def run_one(self) -> None:
        """Run one isolated job, and be gone: it has a process of its own."""
        self._listen_to_signals()
        with told_as_unavailable(self.engine.store.dialect):
            self._sign()
            self.runner.run_batch(1)
        self._leave()

    def _turn(self, poll_seconds: float, max_jobs: int) -> None:
        with told_as_unavailable(self.engine.store.dialect):
            frappe.db.rollback()  # nothing is open; what is read next is read anew
            if self._must_wait():
                self._sign()
                self.runner.stopping.wait(LOOK_SECONDS)
            else:
                super()._turn(poll_seconds, max_jobs)

    def _must_wait(self) -> bool:
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_SECONDS
            self._site_waits = site_waits(anew=True)
        return self._site_waits

    def _waiting(self) -> Waiter:
        if self._waiter is None:
            self._waiter = WakeUpWaiter(self.engine, self.queues)
        return self._waiter


class WakeUpWaiter(BackoffWaiter):
    """Waits for a wake-up of one of its queues; without Redis, asks the database at growing intervals."""

    def __init__(self, engine: RunnersEngine, queues: tuple[str, ...] | None):
        super().__init__(engine.store.dialect.address)
        self._engine = engine
        self._queues = queues or ()
        self._redis = redis_queue.connection()

    def wait(self, seconds, stopping) -> None:
        try:
            self._listen(min(seconds, 60.0), stopping)
        except redis.exceptions.RedisError:
            super().wait(seconds, stopping)

    def _listen(self, seconds, stopping) -> None:
        until = time.monotonic() + seconds
        with self._redis.pubsub(ignore_subscribe_messages=True) as listener:
            listener.subscribe(*(wakeups.channel(queue) for queue in self._queues))
            if any(wakeups.is_waiting(self._engine, queue) for queue in self._queues):
                super().wait(seconds, stopping)  # came before we listened, or cannot be claimed now: do not spin
                return
            while (left := until - time.monotonic()) > 0 and not stopping.is_set():
                if listener.get_message(timeout=min(LISTEN_SECONDS, left)):
                    return
