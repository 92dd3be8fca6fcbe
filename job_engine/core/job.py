"""A job as a frozen value. Its attributes are the columns of the store and the field names of the doctype.

`Job` and `Outcome` are made for every job that runs, and so are named tuples: a frozen dataclass of as many fields takes five
times as long to make, which a worker that drains quick jobs would feel.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from job_engine.core import canonical
from job_engine.core.states import ENDED, Status


class Job(NamedTuple):
    name: str
    job_type: str
    status: Status
    priority: str
    queue: str
    organization: str | None
    user: str | None  # who enqueued it; handlers run on this user's behalf
    handler: str | None  # dotted path, for a trusted caller's function that is no registered type
    params_json: str  # as stored; `params` is what it means, and so for the other two
    run_after: datetime
    attempts: int  # claims so far; also the fencing token
    max_attempts: int
    lost: int  # claims whose worker vanished; such a job is claimed alone
    timeout: int  # seconds; 0 is no limit
    job_hash: str
    dedup_key: str | None
    depends_on: str | None  # the first parent
    blockers: int  # parents that have not completed
    progress: float
    progress_message: str | None
    result_json: str | None
    checkpoint_json: str | None
    last_error: str | None
    error_type: str | None
    traceback: str | None
    reason: str | None  # why it is where it is, when an error alone does not say
    lease_owner: str | None
    lease_expires_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    cancel_requested_at: datetime | None
    canceled_by: str | None
    creation: datetime
    modified: datetime
    # Not stored: in the answer to an enqueue, whether it made this job or found it.
    created: bool | None = None

    @property
    def params(self) -> dict[str, Any]:
        """What the handler is called with. Raises UndecodablePayload where somebody has spoiled the row."""
        return canonical.decode(self.params_json)

    @property
    def result(self) -> Any:
        """What the handler returned."""
        return None if self.result_json is None else canonical.decode_any(self.result_json)

    @property
    def checkpoint(self) -> dict[str, Any]:
        """What the attempts so far have saved."""
        return canonical.decode(self.checkpoint_json, "checkpoint") if self.checkpoint_json else {}

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    def evolve(self, **changes: Any) -> Job:
        return self._replace(**changes)

    def __eq__(self, other: object) -> bool:
        """Equal in all that is stored."""
        return isinstance(other, Job) and self[:-1] == other[:-1]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:-1])


COLUMNS: tuple[str, ...] = tuple(name.removesuffix("_json") for name in Job._fields if name != "created")
TIME_COLUMNS = frozenset(
    {"run_after", "lease_expires_at", "started_at", "ended_at", "cancel_requested_at", "creation", "modified"}
)


@dataclass(frozen=True, slots=True)
class Transition:
    """One line of a job's history."""

    at: datetime
    from_status: Status | None  # None: the job was created
    to_status: Status
    attempt: int
    actor: str | None  # a worker's id, a user, or "tick"
    duration: float | None = None  # seconds the attempt ran
    error_type: str | None = None
    error: str | None = None
    reason: str | None = None
    processed: int | None = None  # what the handler reported about its own items
    failed: int | None = None


class Outcome(NamedTuple):
    """How one attempt ended, decided and not yet written."""

    name: str
    attempt: int
    status: Status
    duration: float = 0.0
    job_type: str = ""
    organization: str | None = None
    claimed_at: datetime | None = None
    result: str | None = None
    progress: float | None = None
    progress_message: str | None = None
    run_after: datetime | None = None
    error: str | None = None
    error_type: str | None = None
    traceback: str | None = None
    reason: str | None = None
    processed: int | None = None
    failed: int | None = None
    give_back: bool = False  # the claim was not used: the attempt is not charged
    actor: str | None = None  # None: the worker itself
    used_connection: bool = False  # the handler wrote through the engine's own transaction
    max_attempts: int = 0  # of the job; 0: whoever ended the attempt did not know

    def evolve(self, **changes: Any) -> Outcome:
        return self._replace(**changes)

    @classmethod
    def of(cls, job: Job, status: Status, duration: float = 0.0, **details: Any) -> Outcome:
        """How the attempt of a running job ended."""
        details["max_attempts"] = job.max_attempts
        return cls(job.name, job.attempts, status, duration, job.job_type, job.organization, job.started_at, **details)
