"""The runner on a `bench worker`: one RQ job that claims and runs many.

It gives way to other RQ jobs of its queue after a time, lingers a moment when there is nothing to do, and stops when the
worker, the site or the bench is told to.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import frappe
from frappe.utils import CallbackManager

from job_engine.core.errors import StoreUnavailable
from job_engine.guard import Guard
from job_engine.runner import Runner
from job_engine.site import wakeups
from job_engine.site.engines import RunnersEngine
from job_engine.site.outages import told_as_unavailable
from job_engine.site.surroundings import Surroundings
from job_engine.store.workers import Worker
from job_engine.worker_id import new_worker_id

TURN_SECONDS = 2.0  # after which other RQ jobs of the queue come first
LONGEST_SECONDS = 300.0  # after which a runner starts anew: with fresh code, and nothing leaked
LINGER_SECONDS = 1.0
TICK_SECONDS = 1.0
MUCH = 20  # jobs in a batch: where there are so many, another worker is welcome


def start(site: str, for_queue: str, alone: bool = False, **told: object) -> None:
    """What a wake-up calls, in a worker's fork. Everything else is read from the database."""
    frappe.init(site=site)
    frappe.connect()
    frappe.local.job = frappe._dict(
        site=site, method=wakeups.RUNNER, job_name=wakeups.RUNNER, kwargs={}, user=None, after_job=CallbackManager()
    )
    try:
        run(for_queue, alone)
        frappe.local.job.after_job.run()
    finally:
        frappe.destroy()


def run(for_queue: str, alone: bool = False) -> None:
    """Be a runner of the connected site for a while."""
    with _signals() as stopping:
        surroundings = Surroundings(for_queue)
        try:
            with surroundings.taking_up(alone):
                ready = RunnersEngine.for_runners(alone, for_queue)
            with closing(ready) as engine, told_as_unavailable(engine.store.dialect):
                if not surroundings.must_wait():
                    _Turn(engine, for_queue, alone, surroundings, stopping).run()
                    frappe.db.rollback()
        except StoreUnavailable as error:
            frappe.logger("job_engine").warning(f"{error} The tick wakes a runner when it is back.")


class _Turn:
    """One runner's time on a worker."""

    def __init__(
        self, engine: RunnersEngine, queue: str, alone: bool, surroundings: Surroundings, stopping: threading.Event
    ):
        self._engine = engine
        self._queue = queue
        self._alone = alone
        self._surroundings = surroundings
        self._stopping = stopping
        self._started = time.monotonic()
        self._ticked = self._started
        self._has_signed_in = False

    def run(self) -> None:
        worker_id = new_worker_id()
        with self._guard(worker_id) as guard:
            runner = Runner(self._engine, worker_id, (self._queue,), guard.beacon)
            runner.stopping = self._stopping
            self._engine.before_a_handler = guard.start
            self._engine.when_it_takes_long = lambda: self._sign_in(worker_id)
            try:
                self._work(runner)
            finally:
                runner.close()
                self._engine.afterwards.finish()
                if self._has_signed_in:
                    self._engine.store.sign_out(worker_id)
                self._hand_over()

    def _guard(self, worker_id: str) -> Guard:
        details = {
            "site": frappe.local.site,
            "sites_path": os.path.abspath(frappe.local.sites_path),
            "worker_id": worker_id,
        }
        settle = [sys.executable, "-m", "job_engine.site.settle"]
        return Guard(self._engine.settings.grace_seconds, settle, details)

    def _sign_in(self, worker_id: str) -> None:
        """Be seen as a worker. Not before a second has passed or a job takes long: most runners are gone by then."""
        if self._has_signed_in:
            return
        self._has_signed_in = True
        now = self._engine.store.now()
        self._engine.store.sign_in(Worker(worker_id, socket.gethostname(), os.getpid(), (self._queue,), now, now))

    def _work(self, runner: Runner) -> None:
        while not self._stopping.is_set():
            ran = runner.run_batch(1 if self._alone else self._engine.settings.batch_jobs)
            if self._alone:
                self._let_others_in(ran)
                return
            self._let_others_in(ran)
            frappe.db.rollback()  # nothing is open; what is read next is read anew
            self._tick(runner)
            if self._surroundings.must_stop():
                return
            if self._is_over(ran):
                wakeups.wake(self._queue, even_if_pending=True)
                return
            if not ran and not self._linger(runner):
                return

    def _let_others_in(self, ran: int) -> None:
        """Where much waits, let another worker of the bench join in."""
        much = self._alone or ran >= MUCH
        if ran and much and wakeups.is_waiting(self._engine, self._queue):
            wakeups.wake(self._queue, self._alone)

    def _hand_over(self) -> None:
        """A worker that is told to stop leaves its queue to others or to its successor, and not to the next tick."""
        stops = self._stopping.is_set() or self._surroundings.worker_stops()
        if stops and wakeups.is_waiting(self._engine, self._queue):
            wakeups.wake(self._queue, self._alone, even_if_pending=True)

    def _is_over(self, ran: int) -> bool:
        """Whether somebody else should have the worker now, though there is more to do."""
        spent = time.monotonic() - self._started
        return bool(ran) and (spent > LONGEST_SECONDS or (spent > TURN_SECONDS and self._surroundings.others_wait()))

    def _linger(self, runner: Runner) -> bool:
        """Wait for a wake-up. False: none came, or somebody else wants the worker."""
        self._engine.afterwards.finish()
        if self._engine.store.is_held_back(runner.worker_id):
            return False  # a limit keeps jobs waiting; the tick comes back to them
        if ("everything", "") in self._engine.store.controls().pauses:
            return False  # nothing will come, and a migration may wait for this runner to leave
        return self._surroundings.wait_for_work(LINGER_SECONDS, self._stopping)

    def _tick(self, runner: Runner) -> None:
        """While a runner lives, retries and schedules need not wait for the scheduler's minute."""
        if time.monotonic() - self._ticked > TICK_SECONDS:
            self._ticked = time.monotonic()
            self._engine.store.promote()
            self._sign_in(runner.worker_id)
            self._engine.store.seen(runner.worker_id)


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """Take over what RQ has set: its alarm, which would hit whatever job runs then, and the order to end."""
    stopping = threading.Event()
    alarm, seconds = signal.getsignal(signal.SIGALRM), signal.alarm(0)
    terminate = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGTERM, terminate)
        signal.signal(signal.SIGALRM, alarm)
        if seconds:
            signal.alarm(seconds)
