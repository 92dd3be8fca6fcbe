"""What the API answers with: values for JSON, without secrets, with times in UTC. The OpenAPI document shows these types."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from typing_extensions import TypedDict

from job_engine.core import canonical
from job_engine.core.errors import UndecodablePayload
from job_engine.core.job import Job, Transition
from job_engine.core.redact import redact, redact_text

OUTPUT_WORDS = ("output_reference", "file_url", "file")


class Submitted(TypedDict):
    """A job that was submitted, or that was there already."""

    name: str
    status: str
    created: bool  # False: a job that stands for this one was there already, and this is its name
    job_type: str
    organization: str | None
    run_after: str


class SubmittedJobs(TypedDict):
    """In the order in which they were given."""

    jobs: list[Submitted]
    created: int


class JobStatus(TypedDict):
    """What somebody who waits for a job asks again and again."""

    name: str
    job_type: str
    status: str
    has_ended: bool
    progress: float
    progress_message: str | None
    attempts: int
    max_attempts: int
    run_after: str
    started_at: str | None
    ended_at: str | None
    cancel_requested: bool
    error: str | None
    result: Any
    output_reference: str | None
    modified: str


class JobRow(TypedDict):
    """A job in a list."""

    name: str
    job_type: str
    organization: str | None
    status: str
    priority: str
    queue: str
    user: str | None
    progress: float
    progress_message: str | None
    attempts: int
    max_attempts: int
    run_after: str
    started_at: str | None
    ended_at: str | None
    error_type: str | None
    last_error: str | None
    creation: str
    modified: str


class JobPage(TypedDict):
    jobs: list[JobRow]
    total: int
    total_is_exact: bool  # False: there are more than `total`
    start: int
    page_length: int


class Relative(TypedDict):
    """A job that this one depends on, or that depends on this one."""

    name: str
    job_type: str
    status: str


class Permitted(TypedDict):
    """What the caller may do with the job as it is now."""

    cancel: bool
    retry: bool
    retry_with_params: bool


class JobDetail(JobRow):
    explanation: str
    reason: str | None
    timeout: int
    lost: int
    dedup_key: str | None
    canceled_by: str | None
    cancel_requested_at: str | None
    worker: str | None
    lease_expires_at: str | None
    params: Any
    result: Any
    checkpoint: Any
    output_reference: str | None
    traceback: str | None  # for managers
    parents: list[Relative]
    dependents: list[Relative]
    permitted: Permitted


class HistoryEntry(TypedDict):
    """One change of state."""

    at: str
    from_status: str | None  # None: the job was created
    to_status: str
    attempt: int
    actor: str | None
    duration: float | None
    error_type: str | None
    error: str | None
    reason: str | None
    processed: int | None
    failed: int | None


class JobHistory(TypedDict):
    name: str
    history: list[HistoryEntry]


class Explanation(TypedDict):
    name: str
    status: str
    explanation: str


class Changed(TypedDict):
    """A job that was canceled or retried."""

    name: str
    status: str
    run_after: str
    cancel_requested: bool


class RetryPreview(TypedDict):
    """What a retry by filter would do."""

    total: int
    total_is_exact: bool
    by_type: dict[str, int]
    by_organization: dict[str, int]
    by_cause: dict[str, int]


class RetriedJobs(TypedDict):
    preview: RetryPreview | None
    retried: int
    remaining: int  # matched and not retried yet: call again


class Pausing(TypedDict):
    scope: str
    target: str
    paused: bool
    changed: bool  # False: it was so before


class JobMetrics(TypedDict):
    organization: str | None
    job_count_by_status: dict[str, int]
    queue_depth_by_priority: dict[str, int]
    job_duration_avg: float | None
    job_duration_p95: float | None
    wait_p95: float | None
    failure_rate_by_type: dict[str, float]
    oldest_waiting_job: str | None
    oldest_waiting_seconds: float
    throughput: float
    workers: int


class RunningJob(TypedDict):
    name: str
    job_type: str
    organization: str | None
    started_at: str | None
    progress: float


class WorkerRow(TypedDict):
    """A worker that was seen lately. Host and process are for System Managers."""

    name: str
    host: str | None
    pid: int | None
    queues: list[str] | None
    started_at: str
    seen_at: str
    running: list[RunningJob]


class WorkerList(TypedDict):
    workers: list[WorkerRow]


class CauseRow(TypedDict):
    """Dead letters of one type that have the same error, apart from numbers and names in it."""

    cause: str  # what `retry_jobs` takes as filters.cause
    job_type: str
    error: str
    error_type: str | None
    count: int
    organizations: list[str]
    first_at: str | None
    last_at: str | None
    example: str


class CauseList(TypedDict):
    causes: list[CauseRow]
    total: int
    total_is_exact: bool  # False: only the newest dead letters were looked at


class LedgerRow(TypedDict):
    """What one organization has used, in the hours asked for."""

    organization: str
    completed: int
    failed_attempts: int
    dead_letters: int
    canceled: int
    worker_seconds: float
    wait_p95: float | None
    duration_p95: float | None
    waiting: int
    running: int


class Ledger(TypedDict):
    hours: int
    organizations: list[LedgerRow]


# From values of the engine -------------------------------------------------------------------------------------------------


def iso(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(timezone.utc).isoformat()


def submitted(job: Job) -> Submitted:
    return {
        "name": job.name,
        "status": str(job.status),
        "created": bool(job.created),
        "job_type": job.job_type,
        "organization": job.organization,
        "run_after": iso(job.run_after) or "",
    }


def status_of(job: Job) -> JobStatus:
    result = clean_json(job.result_json)
    return {
        "name": job.name,
        "job_type": job.job_type,
        "status": str(job.status),
        "has_ended": job.has_ended,
        "progress": float(job.progress),
        "progress_message": clean_text(job.progress_message),
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "run_after": iso(job.run_after) or "",
        "started_at": iso(job.started_at),
        "ended_at": iso(job.ended_at),
        "cancel_requested": job.cancel_requested_at is not None,
        "error": clean_text(job.last_error),
        "result": result,
        "output_reference": output_reference(result),
        "modified": iso(job.modified) or "",
    }


def row_of(job: Job) -> JobRow:
    return {
        "name": job.name,
        "job_type": job.job_type,
        "organization": job.organization,
        "status": str(job.status),
        "priority": job.priority,
        "queue": job.queue,
        "user": job.user,
        "progress": float(job.progress),
        "progress_message": clean_text(job.progress_message),
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "run_after": iso(job.run_after) or "",
        "started_at": iso(job.started_at),
        "ended_at": iso(job.ended_at),
        "error_type": job.error_type,
        "last_error": clean_text(job.last_error),
        "creation": iso(job.creation) or "",
        "modified": iso(job.modified) or "",
    }


def changed(job: Job) -> Changed:
    return {
        "name": job.name,
        "status": str(job.status),
        "run_after": iso(job.run_after) or "",
        "cancel_requested": job.cancel_requested_at is not None and not job.has_ended,
    }


def entry_of(transition: Transition) -> HistoryEntry:
    return {
        "at": iso(transition.at) or "",
        "from_status": transition.from_status and str(transition.from_status),
        "to_status": str(transition.to_status),
        "attempt": transition.attempt,
        "actor": transition.actor,
        "duration": transition.duration,
        "error_type": transition.error_type,
        "error": clean_text(transition.error),
        "reason": clean_text(transition.reason),
        "processed": transition.processed,
        "failed": transition.failed,
    }


def clean_text(text: str | None) -> str | None:
    return text and redact_text(text)


def clean_json(stored: str | None) -> Any:
    """What is stored as JSON, without secrets. A text that somebody has spoiled is no reason to hide the rest of a job."""
    if stored is None:
        return None
    try:
        return redact(canonical.decode_any(stored))
    except UndecodablePayload as error:
        return f"({error})"


def output_reference(result: Any) -> str | None:
    """What the result names as its output."""
    if not isinstance(result, dict):
        return None
    found = next((result[word] for word in OUTPUT_WORDS if result.get(word)), None)
    return found if isinstance(found, str) else None
