"""Why is this job where it is, and what happens next? In one sentence, or two.

What is stored with the job (a reason, an error, a progress message) is told as it stands there.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from job_engine.core.job import Job
from job_engine.core.language import _
from job_engine.core.priority import Lane, lane_of
from job_engine.core.states import Status
from job_engine.store.controls import Limit, Pause

if TYPE_CHECKING:
    from job_engine.engine import Engine


def explain(engine: Engine, job: Job) -> str:
    return _EXPLAIN[job.status](engine, job)


def _pending(engine: Engine, job: Job) -> str:
    if job.blockers:
        waiting = [(n, s) for n, s in engine.store.parents_of(job.name) if s is not Status.COMPLETED]
        if waiting:
            more = _("It also waits for {0} more.").format(len(waiting) - 1) if len(waiting) > 1 else ""
            return _joined(_parent(engine, *waiting[0]), more)
    due = _time(job.run_after)
    if job.run_after > engine.store.now():
        if job.reason:
            return _("Not due yet ({0}); it will be queued at {1}.").format(job.reason, due)
        return _("Not due yet; it will be queued at {0}.").format(due)
    return _joined(_("Due since {0}; the next tick will queue it.").format(due), engine.worker_hint(job.queue))


def _queued(engine: Engine, job: Job) -> str:
    controls = engine.store.controls()
    lane = Lane.parse(lane_of(job.priority, job.queue, job.organization, job.job_type))
    pause = controls.pause_of(lane)
    if pause is not None:
        return _joined(_paused(pause), _("It will run when that is resumed."))
    since = _time(job.modified)
    for scope, target in (("type", job.job_type), ("organization", job.organization or "")):
        limit = controls.limits.get((scope, target))
        if limit is not None:
            said = _("Queued since {0}; {1} is limited to {2}, and it will run when there is room.")
            return _joined(said.format(since, _thing(scope, target), _limit(limit)), engine.worker_hint(job.queue))
    hint = engine.worker_hint(job.queue) or _("The next free worker will take it, in order of priority.")
    return _joined(_("Queued since {0}.").format(since), hint)


def _running(engine: Engine, job: Job) -> str:
    said = _("Running on {0} since {1} (attempt {2} of {3})").format(
        job.lease_owner, _time(job.started_at), job.attempts, job.max_attempts
    )
    if job.cancel_requested_at is not None:
        by = job.canceled_by or _("somebody")
        return _("{0}; {1} asked to cancel it at {2}.").format(said, by, _time(job.cancel_requested_at))
    if job.lease_expires_at is not None and job.lease_expires_at < engine.store.now():
        silent = _("{0}, but its worker has been silent since its lease expired at {1}; the next tick will rescue it.")
        return silent.format(said, _time(job.lease_expires_at))
    if job.progress and job.progress_message:
        return _("{0}, {1} % done: {2}.").format(said, f"{job.progress:.0f}", job.progress_message)
    if job.progress:
        return _("{0}, {1} % done.").format(said, f"{job.progress:.0f}")
    return f"{said}: {job.progress_message}." if job.progress_message else f"{said}."


def _failed(engine: Engine, job: Job) -> str:
    if job.status is Status.TIMED_OUT:
        said = _("Timed out in {0} of {1} attempts ({2}); next try at {3}.")
    else:
        said = _("Failed {0} of {1} attempts ({2}); next try at {3}.")
    kind = (job.last_error or "").partition(":")[0] or _("unknown error")
    return said.format(job.attempts, job.max_attempts, kind, _time(job.run_after))


def _dead(engine: Engine, job: Job) -> str:
    why = _plain(job.reason) or _("no reason recorded")
    if job.last_error:
        why = f"{why} ({_plain(job.last_error)})"
    said = _("In Dead Letter since {0} after {1} of {2} attempts: {3}. It stays there until somebody retries it.")
    return _joined(
        said.format(_time(job.ended_at), job.attempts, job.max_attempts, why),
        _dependents(engine.store.waiting_dependents(job.name)),
    )


def _completed(engine: Engine, job: Job) -> str:
    said = _("Completed at {0} in attempt {1} of {2}.")
    return said.format(_time(job.ended_at), job.attempts, job.max_attempts)


def _canceled(engine: Engine, job: Job) -> str:
    why = _plain(job.reason) or _("no reason given")
    if job.canceled_by:
        said = _("Canceled by {0} at {1}: {2}. It stays so until it is retried.")
        return said.format(job.canceled_by, _time(job.ended_at), why)
    return _("Canceled at {0}: {1}. It stays so until it is retried.").format(_time(job.ended_at), why)


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
    since = _time(parent and (parent.ended_at or parent.modified))
    if status is Status.DEAD_LETTER:
        return _("Waiting for job {0}, which is in Dead Letter since {1}; retry that one.").format(name, since)
    return _("Waiting for job {0}, which is {1} since {2}.").format(name, _(status.value), since)


def _dependents(n: int) -> str:
    if n == 1:
        return _("1 dependent job waits for it.")
    return _("{0} dependent jobs wait for it.").format(n) if n else ""


def _limit(limit: Limit) -> str:
    if limit.rate is None:
        return _("{0} at once").format(limit.concurrency)
    rate = _("{0} in {1} s").format(limit.rate.count, f"{limit.rate.seconds:g}")
    return _("{0} at once and {1}").format(limit.concurrency, rate) if limit.concurrency else rate


def _paused(pause: Pause) -> str:
    if pause.by and pause.reason:
        said = _("Queued; {0} is paused by {1} since {2} ({3}).")
    elif pause.by:
        said = _("Queued; {0} is paused by {1} since {2}.")
    elif pause.reason:
        said = _("Queued; {0} is paused ({3}).")
    else:
        said = _("Queued; {0} is paused.")
    return said.format(_thing(pause.scope, pause.target), pause.by, _time(pause.at), pause.reason)


def _thing(scope: str, target: str) -> str:
    names = {
        "type": _("type {0}"),
        "queue": _("queue {0}"),
        "organization": _("organization {0}"),
        "everything": _("everything"),
    }
    return names[scope].format(target)


def _time(at: datetime | None) -> str:
    """The same in every language: Desk finds it and writes it as its reader does."""
    return _("an unknown time") if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _plain(text: str | None) -> str:
    """Without its full stop: it becomes part of a sentence."""
    return (text or "").rstrip(". ")


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
