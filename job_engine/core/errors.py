"""One tree of errors. A class's docstring is its default message; what a caller may want to read is an attribute."""

from __future__ import annotations

import math
from typing import Any


class JobEngineError(Exception):
    """Job Engine could not do what was asked."""

    def __init__(self, message: str | None = None, **data: Any):
        super().__init__(message or (type(self).__doc__ or "").strip().splitlines()[0])
        for key, value in data.items():
            setattr(self, key, value)


# What a caller asked for and cannot have -----------------------------------------------------------------------------


class InvalidJob(JobEngineError):
    """The job cannot be accepted as it was described."""


class InvalidParams(InvalidJob):
    """The parameters are not a JSON object that can be stored."""


class PayloadTooLarge(InvalidParams):
    """The payload is larger than the limit. Store the data elsewhere and pass its address."""

    size: int
    limit: int


class UnknownJobType(InvalidJob):
    """No handler is registered under this job type."""

    job_type: str


class UnknownParent(InvalidJob):
    """A job can only depend on a job that exists in the same organization."""

    parent: str


class JobNotFound(JobEngineError):
    """There is no job with this name."""

    name: str


class IllegalTransition(JobEngineError):
    """The job's state does not allow this."""

    name: str
    status: str
    wanted: str


# What a worker meets -------------------------------------------------------------------------------------------------


class LeaseLost(JobEngineError):
    """This worker no longer owns the job: its lease ran out and the job was taken from it. Nothing was written."""

    name: str
    attempt: int


class BadArguments(JobEngineError):
    """The handler does not accept these parameters."""


class UndecodablePayload(JobEngineError):
    """The stored parameters are not a JSON object. Correct the row or cancel the job."""


class StoreUnavailable(JobEngineError):
    """The database cannot be reached."""


# What a handler raises to say what should happen ---------------------------------------------------------------------


class TransientError(JobEngineError):
    """The work could not be done now and may succeed later: the job will be retried."""

    def __init__(self, message: str | None = None, retry_after: float | None = None, **data: Any):
        super().__init__(message, **data)
        number = isinstance(retry_after, (int, float)) and math.isfinite(retry_after)
        self.retry_after = retry_after if number else None


class PermanentError(JobEngineError):
    """Trying again cannot help: the job goes to Dead Letter at once."""


class Snooze(JobEngineError):
    """Run me again later; this attempt does not count."""

    def __init__(self, seconds: float, message: str | None = None):
        if not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
            raise ValueError(f"{seconds!r} is no number of seconds to snooze.")
        super().__init__(message or f"Snoozed for {seconds:g} s.")
        self.seconds = seconds


# What the engine raises inside a handler -----------------------------------------------------------------------------


class Interrupt(BaseException):
    """The engine stops this handler. Derived from BaseException so that `except Exception` lets it through."""

    def __init__(self, message: str | None = None):
        super().__init__(message or (type(self).__doc__ or "").strip().splitlines()[0])


class JobTimeout(Interrupt):
    """The job ran longer than its timeout."""


class JobCanceled(Interrupt):
    """The job was canceled while it was running."""


class GivenBack(Interrupt):
    """The attempt was undone through no fault of its own. The job runs again; this attempt does not count."""


class WorkerStopping(GivenBack):
    """The worker was shutting down. The job runs again elsewhere; this attempt does not count."""


class JobLeaseLost(Interrupt):
    """The job was taken from this worker while it was running. Its result will not be recorded."""
