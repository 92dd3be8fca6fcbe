"""What goes on around a runner: other RQ jobs that wait, a worker that is to stop, a site under maintenance."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import frappe
import redis
from rq import get_current_job

from job_engine.site import redis_queue, settings, wakeups

LOOK_SECONDS = 1.0  # between two looks at what seldom changes
LISTEN_SECONDS = 0.02  # between two looks at the queue while lingering


class Surroundings:
    def __init__(self, queue: str):
        self._queue = queue
        job = get_current_job()
        self._worker_key = f"rq:worker:{job.worker_name}" if job is not None and job.worker_name else None
        self._looked_at = time.monotonic()

    @property
    def _redis(self) -> redis.Redis:
        return redis_queue.connection()

    @contextmanager
    def taking_up(self, alone: bool) -> Iterator[None]:
        """The wake-up has arrived: the next enqueue needs another one. Redis is told first, and answers meanwhile."""
        job = get_current_job()
        connection = self._redis if job is None else job.connection  # which RQ has just used: it need not be opened
        pool = connection.connection_pool
        line = self._ask(lambda: pool.get_connection("DEL"))
        is_told = line and self._ask(lambda: line.send_command("DEL", wakeups.pending_key(self._queue, alone)) or True)
        try:
            yield
            if is_told:
                self._ask(line.read_response)
                is_told = False
        finally:
            if is_told:
                line.disconnect()  # what it would read next is the answer to this
            if line:
                pool.release(line)

    def must_wait(self) -> bool:
        """Whether jobs wait, all of them."""
        return site_waits()

    def must_stop(self) -> bool:
        """Whether the runner should end, with all it holds given back."""
        if time.monotonic() - self._looked_at < LOOK_SECONDS:
            return False
        self._looked_at = time.monotonic()
        return self.worker_stops() or site_waits(anew=True)

    def worker_stops(self) -> bool:
        """Whether RQ's worker, this runner's parent, was told to stop."""
        if self._worker_key is None:
            return False
        return self._ask(lambda: self._redis.hget(self._worker_key, "shutdown_requested_date")) is not None

    def others_wait(self) -> bool:
        """Whether other RQ jobs wait for this worker."""
        return any(self._ask(lambda name=name: self._redis.llen(name)) for name in self._rq_lists)

    @cached_property
    def _rq_lists(self) -> list[str]:
        """Where RQ jobs for this worker wait: it may serve several queues."""
        served = self._worker_key and self._ask(lambda: self._redis.hget(self._worker_key, "queues"))
        return (
            [f"rq:queue:{name}" for name in served.decode().split(",")] if served else [redis_queue.rq_key(self._queue)]
        )

    def wait_for_work(self, seconds: float, stopping: threading.Event) -> bool:
        """Listen for a wake-up; True when one came. Leaves at once for other RQ jobs, for a stop, or without Redis."""
        until = time.monotonic() + seconds
        try:
            with self._redis.pubsub(ignore_subscribe_messages=True) as listener:
                listener.subscribe(wakeups.channel(self._queue))
                while time.monotonic() < until and not stopping.is_set():
                    if listener.get_message(timeout=LISTEN_SECONDS):
                        return True
                    if self.others_wait() or self.must_stop():
                        break
                listener.unsubscribe()
                return _missed(listener)
        except redis.exceptions.RedisError:
            return False

    def _ask(self, question: Any) -> Any:
        try:
            return question()
        except redis.exceptions.RedisError:
            return None


def site_waits(anew: bool = False) -> bool:
    """Whether the site is under maintenance or its scheduler is off: then jobs wait. `anew`: read the configuration again."""
    if anew:
        frappe.local.conf = frappe._dict(frappe.get_site_config())
        settings.forget_now()
    conf = frappe.local.conf
    if conf.maintenance_mode or conf.pause_scheduler or conf.disable_scheduler:
        return True
    return not settings.read().scheduler_is_on


def _missed(listener: Any) -> bool:
    """A wake-up that came in while we were leaving: whoever sent it counts on us. Redis answers in order."""
    while True:
        kind, *_ = listener.parse_response(block=True)
        if kind == b"message":
            return True
        if kind == b"unsubscribe":
            return False
