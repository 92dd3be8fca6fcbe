"""One worker process: claim, run, wait, until told to stop."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING

from job_engine.core.errors import StoreUnavailable
from job_engine.dispatcher import Housekeeper
from job_engine.runner import Runner
from job_engine.store.waiting import Waiter, wake_this_process
from job_engine.store.workers import Worker as SignedIn

if TYPE_CHECKING:
    from job_engine.beacon import Beacon
    from job_engine.engine import Engine

log = logging.getLogger("job_engine.worker")

SEEN_SECONDS = 20.0
LONGEST_OUTAGE_PAUSE = 5.0
HELD_BACK_SECONDS = 0.1


class Worker:
    """`supervised`: a supervisor ticks, restarts and kills. On its own, the worker does what it can of that itself."""

    def __init__(
        self, engine: Engine, worker_id: str, queues: tuple[str, ...] | None = None, beacon: Beacon | None = None
    ):
        self.engine = engine
        self.worker_id = worker_id
        self.queues = queues
        self.supervised = beacon is not None
        self.runner = Runner(engine, worker_id, queues, beacon, exit_when_overdue=not self.supervised)
        self._waiter: Waiter | None = None
        self._housekeeper = Housekeeper(engine)
        self._next_tick = 0.0
        self._next_seen = 0.0

    def run(self, poll_seconds: float, max_jobs: int) -> None:
        self._listen_to_signals()
        log.info("Worker %s started", self.worker_id, extra={"action": "worker_started", "worker": self.worker_id})
        pause, longest = 0.1, min(LONGEST_OUTAGE_PAUSE, self.engine.settings.beat_seconds)  # back before leases run out
        while not self.runner.stopping.is_set():
            try:
                self._turn(poll_seconds, max_jobs)
                pause = 0.1
            except StoreUnavailable as error:
                log.warning("%s Trying again in %.1f s.", error, pause, extra={"action": "store_away"})
                self._reset()
                self.runner.stopping.wait(pause)
                pause = min(pause * 2, longest)
            except Exception:
                log.exception(
                    "The worker failed at something other than a job and goes on", extra={"action": "worker_error"}
                )
                self.runner.stopping.wait(pause)
                pause = min(pause * 2, longest)
        self._leave()

    def stop(self) -> None:
        """Finish the job at hand within the grace period, give back the others, end."""
        self.runner.stopping.set()
        wake_this_process(self.engine.store.dialect.address)

    def leave_supervision(self) -> None:
        """The supervisor is gone: stop, and if a handler will not, do what the supervisor would have done."""
        self.supervised = False
        self.runner.keeper.leave_supervision()
        self.stop()

    def _turn(self, poll_seconds: float, max_jobs: int) -> None:
        self._sign()
        self._tick()
        waiter = self._waiting()  # listens before it looks: a job that comes right after the look is not missed
        if self.runner.run_batch(max_jobs):
            waiter.work_came()
        elif not self.runner.stopping.is_set():
            beacon = self.runner.beacon
            if beacon is not None:
                beacon.hide()
            waiter.wait(min(poll_seconds, self._seconds_to_next_look()), self.runner.stopping)

    def _tick(self) -> None:
        if not self.supervised and time.monotonic() >= self._next_tick:
            self._next_tick = time.monotonic() + self.engine.settings.tick_seconds
            self.engine.tick()
            self._housekeeper.run_if_due()

    def _seconds_to_next_look(self) -> float:
        """No database tells when a limit has room again; and ticking on its own, a worker wakes when the next job is due."""
        if self.engine.store.is_held_back(self.worker_id):
            return HELD_BACK_SECONDS
        if self.supervised:
            return float("inf")
        due = self.engine.store.next_due()
        wait = float("inf") if due is None else (due - self.engine.store.now()).total_seconds()
        if wait < self.engine.settings.tick_seconds:
            self._next_tick = 0.0
        return max(0.0, wait)

    def _sign(self) -> None:
        """Say that this worker is alive: operators and `explain` look for that."""
        if time.monotonic() < self._next_seen:
            return
        now = self.engine.store.now()
        if self._next_seen == 0.0:
            self.engine.store.sign_in(
                SignedIn(self.worker_id, socket.gethostname(), os.getpid(), self.queues, now, now)
            )
        else:
            self.engine.store.seen(self.worker_id)
        self._next_seen = time.monotonic() + SEEN_SECONDS

    def _waiting(self) -> Waiter:
        if self._waiter is None:
            self._waiter = self.engine.store.waiter()
        return self._waiter

    def _reset(self) -> None:
        """Connections are made anew when the database is back."""
        self.engine.store.close()
        if self._waiter is not None:
            self._waiter.close()
        self._waiter = None

    def _leave(self) -> None:
        self.runner.close()
        try:
            self.engine.store.sign_out(self.worker_id)
        except StoreUnavailable:
            pass  # it will be missed soon enough
        if self._waiter is not None:
            self._waiter.close()
        log.info("Worker %s stopped", self.worker_id, extra={"action": "worker_stopped", "worker": self.worker_id})

    def _listen_to_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.runner.stopping.is_set() and not self.supervised:
            # A second time: at once. Leases expire and the jobs are rescued, unless we can still give them back.
            os._exit(128 + number)
        self.stop()
