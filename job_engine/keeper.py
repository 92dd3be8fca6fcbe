"""A thread beside the runner, with a connection of its own, that keeps what the runner holds.

It extends leases, writes progress, sees cancel requests, stops what runs too long, gives back what waits behind a slow job,
and commits finished jobs while a slow one runs.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from job_engine.attempt import Attempt, look_for_cancel
from job_engine.core.errors import (
    Interrupt,
    JobCanceled,
    JobLeaseLost,
    JobTimeout,
    LeaseLost,
    StoreUnavailable,
    WorkerStopping,
)
from job_engine.core.job import Job
from job_engine.settling import settle

if TYPE_CHECKING:
    from job_engine.runner import Runner

log = logging.getLogger("job_engine.keeper")

EXIT_OVERDUE = 70  # the process ended itself because a handler would not stop
LONGEST_PERIOD = 0.25  # between two looks at what runs, however rarely groups are committed
STOP_SHARE = 0.8  # of the grace period: how long a job may go on after its worker was told to stop
HOARD_SECONDS = 1.0  # how long a job may run before its claimed neighbours are given back
LONG_SECONDS = 0.25  # how long a job runs before somebody may be looking at it


class Keeper:
    def __init__(self, runner: Runner, exit_when_overdue: bool):
        self._runner = runner
        self._settings = runner.engine.settings
        self._exit_when_overdue = exit_when_overdue
        self._held: Sequence[Job] = ()
        self._wake = threading.Event()  # set while a batch is held
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._heartbeat_at = 0.0
        self._stop_at: float | None = None

    @contextmanager
    def holding(self, jobs: Sequence[Job]) -> Iterator[None]:
        self._held = jobs
        self._heartbeat_at = time.monotonic() + self._settings.beat_seconds
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="job-engine-keeper", daemon=True)
            self._thread.start()
        self._wake.set()
        try:
            yield
        finally:
            self._wake.clear()
            self._held = ()

    def leave_supervision(self) -> None:
        """The supervisor is gone: from now on this keeper itself ends a process whose handler will not stop."""
        self._runner.beacon = None
        self._exit_when_overdue = True

    def close(self) -> None:
        self._closing.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5)

    def _loop(self) -> None:
        while True:
            self._wake.wait()
            if self._closing.wait(min(self._settings.group_seconds, LONGEST_PERIOD)):
                break
            try:
                self._beat()
            except StoreUnavailable as error:
                log.warning("%s Leases cannot be extended until it is back.", error, extra={"action": "store_away"})
                self._closing.wait(1)
            except Exception:
                log.exception("The keeper failed at one of its duties and goes on", extra={"action": "keeper_error"})
                self._closing.wait(1)
        self._runner.engine.store.close()

    def _beat(self) -> None:
        self._runner.group.write_if_due(wait=False)
        now = time.monotonic()
        attempt = self._runner.attempt
        if attempt is not None:
            self._watch(attempt, now)
        if self._held and now >= self._heartbeat_at:
            self._heartbeat_at = now + self._settings.beat_seconds
            self._extend_leases(attempt)

    def _watch(self, attempt: Attempt, now: float) -> None:
        if attempt.overdue_at is not None:
            if now > attempt.overdue_at:
                self._overdue(attempt)
            return
        if not attempt.took_long and now - attempt.started > LONG_SECONDS:
            attempt.took_long = True
            self._runner.engine.takes_long(attempt.job)
        if attempt.deadline is not None and now > attempt.deadline:
            self._interrupt(attempt, JobTimeout(f"The job ran longer than its timeout of {attempt.job.timeout} s."))
        elif attempt.cancel_requested:
            self._interrupt(attempt, JobCanceled())
        elif self._stopped_for(now) > self._settings.grace_seconds * STOP_SHARE:
            self._interrupt(attempt, WorkerStopping(), self._settings.grace_seconds * (1 - STOP_SHARE))
        elif attempt.progress_is_new and now > attempt.progress_at + self._settings.progress_seconds:
            self._save_progress(attempt, now)
        elif now - attempt.started > self._settings.cancel_check_seconds:
            look_for_cancel(self._runner.engine.store, attempt, self._settings.cancel_check_seconds)
        if self._runner.claimed and (now - attempt.started > HOARD_SECONDS or self._runner.stopping.is_set()):
            self._runner.give_back_unstarted("the worker was busy with a slow job")

    def _stopped_for(self, now: float) -> float:
        if not self._runner.stopping.is_set():
            return 0.0
        if self._stop_at is None:
            self._stop_at = now
        return now - self._stop_at

    def _extend_leases(self, attempt: Attempt | None) -> None:
        asked = self._held  # the runner may go on to its next batch while the database answers
        answer = self._runner.engine.store.heartbeat(self._runner.worker_id, [job.name for job in asked])
        held = {(h.name, h.attempt): h for h in answer}
        self._runner.forget_lost([job for job in asked if (job.name, job.attempts) not in held])
        if attempt is None or self._runner.attempt is not attempt:
            return
        mine = held.get((attempt.job.name, attempt.job.attempts))
        if mine is None:
            self._lose(attempt)
        else:
            attempt.cancel_requested = attempt.cancel_requested or mine.cancel_requested

    def _save_progress(self, attempt: Attempt, now: float) -> None:
        attempt.progress_is_new = False
        attempt.progress_at = now
        job = attempt.job
        try:
            self._runner.engine.store.save_progress(
                job.name, self._runner.worker_id, job.attempts, attempt.percent, attempt.message
            )
            self._runner.engine.progressed(job, attempt.percent, attempt.message)
        except LeaseLost:
            if self._runner.attempt is attempt:
                self._lose(attempt)

    def _lose(self, attempt: Attempt) -> None:
        attempt.lost = True
        log.warning(
            "Job %s was taken from this worker: its lease had expired. Its outcome will not be recorded",
            attempt.job.name,
            extra={"action": "lease_lost", "job": attempt.job.name, "attempt": attempt.job.attempts},
        )
        self._interrupt(attempt, JobLeaseLost())

    def _interrupt(self, attempt: Attempt, interruption: Interrupt, grace_seconds: float | None = None) -> None:
        attempt.interruption = interruption
        grace = self._settings.grace_seconds if grace_seconds is None else grace_seconds
        attempt.overdue_at = kill_at = time.monotonic() + grace

        def condemn() -> None:
            beacon = self._runner.beacon
            if beacon is not None:
                beacon.condemn(attempt.job.name, attempt.job.attempts, interruption, kill_at)

        # Not afterwards: the job may have ended by then, and its worker would be killed for it while it does nothing.
        self._runner.interrupter.interrupt(attempt, interruption, first=condemn)

    def _overdue(self, attempt: Attempt) -> None:
        """The handler would not stop. Under a supervisor the process is about to be killed; otherwise it is on us."""
        if self._runner.beacon is not None or self._runner.attempt is not attempt:
            return
        if not attempt.lost:
            self._settle(attempt)
        if self._exit_when_overdue:
            os._exit(EXIT_OVERDUE)

    def _settle(self, attempt: Attempt) -> None:
        assert attempt.interruption is not None
        log.error(
            "Job %s did not stop within its grace period after being told to (%s)",
            attempt.job.name,
            attempt.interruption,
            extra={"action": "overdue", "job": attempt.job.name, "attempt": attempt.job.attempts},
        )
        settle(
            self._runner.engine, self._runner.worker_id, attempt.job.name, attempt.job.attempts, attempt.interruption
        )
        attempt.lost = True  # not before it is settled: with the database away, the next look tries again
