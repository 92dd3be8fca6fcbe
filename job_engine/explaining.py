"""Why is this job where it is, and what happens next? In one sentence."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from job_engine.core.job import Job
from job_engine.core.priority import Lane, lane_of
from job_engine.core.states import Status
from job_engine.store.controls import Pause

if TYPE_CHECKING:
    from job_engine.engine import Engine


def explain(engine: Engine, job: Job) -> str:
    return _EXPLAIN[job.status](engine, job)


def _pending(engine: Engine, job: Job) -> str:
    if job.blockers:
        waiting = [(n, s) for n, s in engine.store.parents_of(job.name) if s is not Status.COMPLETED]
        if waiting:
            return f"Waiting for {_parent(engine, *waiting[0])}{_and_more(len(waiting) - 1)}."
    if job.run_after > engine.store.now():
        why = f" ({job.reason})" if job.reason else ""
        return f"Not due yet{why}; it will be queued at {_time(job.run_after)}."
    return f"Due since {_time(job.run_after)}; the next tick will queue it.{_worker_hint(engine)}"


def _queued(engine: Engine, job: Job) -> str:
    controls = engine.store.controls()
    lane = Lane.parse(lane_of(job.priority, job.queue, job.organization, job.job_type))
    pause = controls.pause_of(lane)
    if pause is not None:
        return f"Queued; {_paused(pause)}. It will run when that is resumed."
    for scope, target in (("type", job.job_type), ("organization", job.organization or "")):
        limit = controls.limits.get((scope, target))
        if limit is not None:
            parts = [f"{limit.concurrency} at once"] if limit.concurrency else []
            parts += [f"{limit.rate.count} in {limit.rate.seconds:g} s"] if limit.rate else []
            return (
                f"Queued since {_time(job.modified)}; {scope} {target} is limited to {' and '.join(parts)}, "
                f"and it will run when there is room.{_worker_hint(engine)}"
            )
    hint = _worker_hint(engine) or " The next free worker will take it, in order of priority."
    return f"Queued since {_time(job.modified)}.{hint}"


def _running(engine: Engine, job: Job) -> str:
    said = f"Running on {job.lease_owner} since {_time(job.started_at)} (attempt {job.attempts} of {job.max_attempts})"
    if job.cancel_requested_at is not None:
        return f"{said}; {job.canceled_by or 'somebody'} asked to cancel it at {_time(job.cancel_requested_at)}."
    if job.lease_expires_at is not None and job.lease_expires_at < engine.store.now():
        return f"{said}, but its worker has been silent since its lease expired at {_time(job.lease_expires_at)}; \
the next tick will rescue it."
    progress = f", {job.progress:g} % done" if job.progress else ""
    message = f": {job.progress_message}" if job.progress_message else ""
    return f"{said}{progress}{message}."


def _failed(engine: Engine, job: Job) -> str:
    verb = "Timed out in" if job.status is Status.TIMED_OUT else "Failed"
    kind = (job.last_error or "").partition(":")[0] or "unknown error"
    return f"{verb} {job.attempts} of {job.max_attempts} attempts ({kind}); next try at {_time(job.run_after)}."


def _dead(engine: Engine, job: Job) -> str:
    error = f" ({_plain(job.last_error)})" if job.last_error else ""
    dependents = engine.store.waiting_dependents(job.name)
    waiting = f" {dependents} dependent job(s) wait for it." if dependents else ""
    return (
        f"In Dead Letter since {_time(job.ended_at)} after {job.attempts} of {job.max_attempts} attempts: "
        f"{_plain(job.reason) or 'no reason recorded'}{error}. It stays there until somebody retries it.{waiting}"
    )


def _completed(engine: Engine, job: Job) -> str:
    return f"Completed at {_time(job.ended_at)} in attempt {job.attempts} of {job.max_attempts}."


def _canceled(engine: Engine, job: Job) -> str:
    by = f" by {job.canceled_by}" if job.canceled_by else ""
    return f"Canceled{by} at {_time(job.ended_at)}: {_plain(job.reason) or 'no reason given'}. It stays so until it is retried."


_EXPLAIN = {
    Status.PENDING: _pending,
    Status.QUEUED: _queued,
    Status.RUNNING: _running,
    Status.FAILED: _failed,
    Status.TIMED_OUT: _failed,
    Status.DEAD_LETTER: _dead,
    Status.COMPLETED: _completed,
    Status.CANCELED: _canceled,
}


def _parent(engine: Engine, name: str, status: Status) -> str:
    parent = engine.store.get(name)
    since = f" since {_time(parent.ended_at or parent.modified)}" if parent is not None else ""
    advice = "; retry that one" if status is Status.DEAD_LETTER else ""
    return f"job {name}, which is {'in ' if status is Status.DEAD_LETTER else ''}{status}{since}{advice}"


def _and_more(n: int) -> str:
    return f", and for {n} more" if n > 0 else ""


def _paused(pause: Pause) -> str:
    what = "everything" if pause.scope == "everything" else f"{pause.scope} {pause.target}"
    by = f" by {pause.by}" if pause.by else ""
    why = f" ({pause.reason})" if pause.reason else ""
    since = f" since {_time(pause.at)}" if pause.at else ""
    return f"{what} is paused{by}{since}{why}"


def _worker_hint(engine: Engine) -> str:
    if engine.store.workers():
        return ""
    return " No worker has been seen lately: start one with `job-engine work`."


def _time(at: datetime | None) -> str:
    return "an unknown time" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _plain(text: str | None) -> str:
    """Without its full stop: it becomes part of a sentence."""
    return (text or "").rstrip(". ")
