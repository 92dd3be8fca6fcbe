"""One attempt while it runs: what the runner, its keeper and the handler's context share."""

from __future__ import annotations

import threading
import time

from job_engine.core.errors import Interrupt
from job_engine.core.job import Job
from job_engine.core.job_type import JobType
from job_engine.store.port import Store


class _Current(threading.local):
    attempt: Attempt | None = None
    group: object = None


_current = _Current()


class Attempt:
    __slots__ = (
        "cancel_requested",
        "counts",
        "deadline",
        "interruption",
        "job",
        "job_type",
        "lost",
        "message",
        "next_cancel_check",
        "overdue_at",
        "percent",
        "progress_at",
        "progress_is_new",
        "progress_was_told",
        "started",
        "took_long",
        "undone",
        "uses_connection",
    )

    def __init__(self, job: Job, job_type: JobType):
        self.job = job
        self.job_type = job_type
        self.started = time.monotonic()
        self.took_long = False  # long enough for somebody to look at it; the home was told
        self.deadline = self.started + job.timeout if job.timeout else None
        self.interruption: Interrupt | None = None  # raised, or about to be raised, in the handler
        self.overdue_at: float | None = None  # interrupted, it may go on until then
        self.cancel_requested = False
        self.lost = False  # the lease is gone, or somebody else has recorded how the attempt ended
        self.undone: BaseException | None = None  # its writes were rolled back, whatever its handler goes on to do
        self.percent: float = job.progress
        self.message: str | None = None
        self.progress_is_new = False  # since it was last written
        self.progress_was_told = False
        self.progress_at = 0.0
        self.next_cancel_check = self.started
        self.counts: tuple[int | None, int | None] = (None, None)  # processed, failed
        self.uses_connection = False

    @property
    def is_plain(self) -> bool:
        """The handler has told nothing and written nothing through the engine."""
        return self.message is None and not self.uses_connection and self.counts == (None, None)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


def look_for_cancel(store: Store, attempt: Attempt, every_seconds: float) -> None:
    """Ask the store, now and then, whether somebody wants the attempt's job canceled or has taken it."""
    now = time.monotonic()
    if attempt.cancel_requested or attempt.lost or now < attempt.next_cancel_check:
        return
    attempt.next_cancel_check = now + every_seconds
    job = attempt.job
    held = {(h.name, h.attempt): h for h in store.held(job.lease_owner or "", [job.name])}
    mine = held.get((job.name, job.attempts))
    attempt.lost = mine is None
    attempt.cancel_requested = mine is not None and mine.cancel_requested


def set_current(attempt: Attempt | None, group: object = None) -> None:
    _current.attempt, _current.group = attempt, group


def current() -> tuple[Attempt | None, object]:
    """The attempt that runs in this thread, and its group."""
    return _current.attempt, _current.group
