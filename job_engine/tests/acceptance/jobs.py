"""Questions that tests ask about jobs again and again."""

from __future__ import annotations

from job_engine import Engine, Job, Status
from job_engine.core.states import ACTIVE
from job_engine.store.rescuing import WORKER_LOST
from job_engine.tests.acceptance.folder import Folder, Note


def all_have_ended(engine: Engine) -> bool:
    return engine.count(status=list(ACTIVE)) == 0


def is_now(engine: Engine, job: Job, *wanted: Status) -> bool:
    return engine.get(job.name).status in wanted


def has_started(folder: Folder, job: Job) -> list[Note]:
    """The notes of its starts; empty, and so false, while there is none."""
    return folder.notes("started", job.name)


def ends_of_attempts(engine: Engine, job: Job) -> list[Status]:
    """Where each attempt that counts has led, oldest first. A claim that was given back is none."""
    ends = [t for t in engine.history(job.name) if t.from_status is Status.RUNNING]
    return [t.to_status for t in ends if t.to_status is not Status.QUEUED or t.reason == WORKER_LOST]


def outcome(engine: Engine, job: Job) -> tuple[Status, int]:
    """Its state, and how many attempts it was charged."""
    now = engine.get(job.name)
    return now.status, now.attempts
