"""What Frappe does around each of its own background jobs, for durable ones.

frappe.local.job says which job runs. The hooks before_job and after_job of the site's apps are called with what Frappe calls
them with: the first before the handler and in its transaction, the others when its end is committed, whichever it was. So are
the callbacks in frappe.local.job.after_job. Then documents that the handler has locked are free again.

Whoever wants something to happen afterwards wants it at once: such a job is committed alone, so that no other starts before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import frappe
from frappe.utils import CallbackManager
from frappe.utils.background_jobs import flush_telemetry

from job_engine.attempt import Attempt
from job_engine.calling import call
from job_engine.context import JobContext
from job_engine.core import canonical
from job_engine.core.job import Job
from job_engine.site.execution import Place

log = logging.getLogger("job_engine.around")

_DONE_HERE = frozenset(
    {"frappe.utils.file_lock.release_document_locks", "frappe.utils.background_jobs.flush_telemetry"}
)
# To import the Recorder, and to ask Redis for each job whether somebody records, takes longer than many a job.
_NOT_DONE = frozenset({"frappe.recorder.record", "frappe.recorder.dump"})
_OF_THE_MONITOR = frozenset({"frappe.monitor.start", "frappe.monitor.stop"})


@dataclass(frozen=True, slots=True)
class _Ended:
    """A handler that has ended, after which something has to be done."""

    place: Place
    hooks: Sequence[str]
    result: Any


class Around:
    def __init__(self) -> None:
        self._before, self._after = _hooks("before_job"), _hooks("after_job")
        self._ended: _Ended | None = None

    @property
    def follows(self) -> bool:
        """Whether something is to be done when the job at hand is committed."""
        return bool(self._after) or self._ended is not None

    def call(self, attempt: Attempt, context: JobContext) -> Any:
        """Call the hooks before the handler, and the handler."""
        told = frappe.local.job
        after: Sequence[str] = ()
        result = None
        try:
            if self._before:
                self._call_before(attempt.job, told)
            after = self._after
            result = call(attempt.job_type, told.kwargs, context)
            return result
        finally:
            place = Place()
            if after or told.after_job._functions or place.has("locked_documents") or place.has("posthog"):
                self._ended = _Ended(place, after, result)

    def _call_before(self, job: Job, told: Any) -> None:
        for path in self._before:
            frappe.call(path, method=told.method, kwargs=told.kwargs, transaction_type="job")
        monitor = getattr(frappe.local, "monitor", None)
        if monitor is not None:  # which has asked RQ, and thinks of the runner
            waited = datetime.now(timezone.utc) - job.run_after
            monitor.add_custom_data(uuid=job.name)
            monitor.data.job.wait = max(0, int(waited.total_seconds() * 1_000_000))

    def follow_up(self) -> None:
        """The job at hand is committed, or undone: do what was to follow. Never raises; what fails is in the Error Log."""
        ended, self._ended = self._ended, None
        if ended is not None:
            try:
                ended.place.later(lambda: _follow_up(ended))()
            except Exception:
                log.exception("What follows a job failed", extra={"action": "follow_up_failed"})


def describe(attempt: Attempt) -> Any:
    """The job as Frappe describes one in frappe.local.job."""
    job, handler = attempt.job, attempt.job_type.handler
    method = f"{handler.__module__}.{getattr(handler, '__qualname__', job.job_type)}"
    return frappe._dict(
        site=frappe.local.site,
        method=method,
        job_name=method,
        kwargs=canonical.decode(job.params_json),
        user=job.user or "Administrator",
        after_job=CallbackManager(),
    )


def _hooks(name: str) -> list[str]:
    left_out = _DONE_HERE | _NOT_DONE if frappe.conf.monitor else _DONE_HERE | _NOT_DONE | _OF_THE_MONITOR
    return [path for path in frappe.get_hooks(name) if path not in left_out]


def _follow_up(ended: _Ended) -> None:
    """In the order in which Frappe does it. What hooks write and do not commit is gone, as it is there."""
    told = frappe.local.job
    for document in list(frappe.local.locked_documents):
        _harmless(document.unlock, "A document could not be unlocked")
    flush_telemetry()
    for path in ended.hooks:
        _harmless(
            lambda path=path: frappe.call(path, method=told.method, kwargs=told.kwargs, result=ended.result),
            f"{path} failed after a job",
        )
    while told.after_job._functions:
        _harmless(told.after_job._functions.popleft(), "A callback of frappe.local.job.after_job failed")
    if ended.hooks and frappe.local.db._conn:
        frappe.db.rollback()


def _harmless(action: Callable[[], Any], title: str) -> None:
    """The job has ended, and its end is committed: a failure now is no failure of the job."""
    try:
        action()
    except Exception:
        log.exception(title, extra={"action": "follow_up_failed"})
        with suppress(Exception):
            frappe.db.rollback()
            frappe.log_error(f"Job Engine: {title}")
            frappe.db.commit()
