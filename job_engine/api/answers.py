"""The types of what the API answers with. The OpenAPI document shows them."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict


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


class JobStanding(TypedDict):
    """How a job stands: what every answer about one says."""

    name: str
    job_type: str
    status: str
    progress: float
    progress_message: str | None
    attempts: int
    max_attempts: int
    run_after: str
    started_at: str | None
    ended_at: str | None
    modified: str


class JobStatus(JobStanding):
    """What somebody who waits for a job asks again and again."""

    has_ended: bool
    cancel_requested: bool
    error: str | None
    result: Any
    output_reference: str | None


class JobRow(JobStanding):
    """A job in a list."""

    organization: str | None
    priority: str
    queue: str
    user: str | None
    error_type: str | None
    last_error: str | None
    creation: str


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
