"""What a handler is given."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from job_engine.attempt import Attempt, look_for_cancel
from job_engine.core import canonical
from job_engine.core.error_text import clean
from job_engine.core.errors import JobCanceled, JobEngineError, JobLeaseLost, LeaseLost
from job_engine.core.job import Job

if TYPE_CHECKING:
    from job_engine.engine import Engine
    from job_engine.group import Group


MOST_ITEMS = 2**31 - 1  # what every database's integer holds


class JobContext:
    """The running job, seen from inside its handler."""

    __slots__ = ("_attempt", "_checkpoint", "_group", "_logger", "engine")

    def __init__(self, engine: Engine, attempt: Attempt, group: Group):
        self.engine = engine
        self._attempt = attempt
        self._group = group
        self._checkpoint: dict[str, Any] | None = None
        self._logger: logging.LoggerAdapter[logging.Logger] | None = None

    @property
    def job(self) -> Job:
        return self._attempt.job

    @property
    def name(self) -> str:
        return self._attempt.job.name

    @property
    def attempt(self) -> int:
        """1 for the first try."""
        return self._attempt.job.attempts

    @property
    def organization(self) -> str | None:
        return self._attempt.job.organization

    @property
    def user(self) -> str | None:
        """Who enqueued the job."""
        return self._attempt.job.user

    @property
    def effect_key(self) -> str:
        """The same in every attempt: pass it on as the idempotency key of an external effect."""
        return f"job-{self._attempt.job.name}"

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose lines carry the job's name, type, attempt and organization."""
        if self._logger is None:
            job = self.job
            fields = {"job": job.name, "job_type": job.job_type, "attempt": job.attempts}
            if job.organization:
                fields["organization"] = job.organization
            self._logger = logging.LoggerAdapter(logging.getLogger("job_engine.handler"), fields)
        return self._logger

    # Progress and results

    def progress(self, percent: float, message: str | None = None) -> None:
        """Tell how far the work is. Cheap to call often: what is published is throttled, and the last call is never lost."""
        attempt = self._attempt
        attempt.percent = min(100.0, max(0.0, float(percent)))
        attempt.message = None if message is None else clean(str(message))[:500]
        attempt.progress_is_new = attempt.progress_was_told = True

    def report(self, processed: int | None = None, failed: int | None = None) -> None:
        """How many items of its own this attempt has processed, and how many of them failed. Kept in the history."""
        for count in (processed, failed):
            if count is not None and not (isinstance(count, int) and 0 <= count <= MOST_ITEMS):
                raise ValueError(f"{count!r} is no count of items: it is a whole number from 0 to {MOST_ITEMS}.")
        self._attempt.counts = (processed, failed)

    # Checkpoint

    @property
    def checkpoint(self) -> MutableMapping[str, Any]:
        """What earlier attempts have saved. Change it, then call save_checkpoint()."""
        if self._checkpoint is None:
            self._checkpoint = self.job.checkpoint
        return self._checkpoint

    def save_checkpoint(self) -> None:
        """Keep the checkpoint for the next attempt. Commits it together with what was written on ctx.connection so far."""
        text = canonical.encode(dict(self.checkpoint), "checkpoint", self.engine.settings.payload_bytes)
        try:
            self._group.save_checkpoint(self._attempt, text)
        except LeaseLost as lost:
            self._attempt.lost = True
            raise JobLeaseLost() from lost

    # Cancel

    def check_canceled(self) -> None:
        """Raise JobCanceled when somebody wants this job canceled, JobLeaseLost when it is no longer this worker's."""
        attempt = self._attempt
        look_for_cancel(self.engine.store, attempt, self.engine.settings.cancel_check_seconds)
        if attempt.lost:
            raise JobLeaseLost()
        if attempt.cancel_requested:
            raise JobCanceled()

    # The job's transaction

    @property
    def connection(self) -> HandlerConnection:
        """The engine's own connection. What is written here is committed with the job's completion, or not at all."""
        return HandlerConnection(self._group.session_for(self._attempt).connection)

    def enqueue(self, job_type: str, params: dict[str, Any] | None = None, **options: Any) -> Job:
        """Enqueue a job that exists if and only if this one completes."""
        options.setdefault("organization", self.organization)
        options.setdefault("user", self.user)
        return self.engine.enqueue(job_type, params, connection=self.connection, **options)


class HandlerConnection:
    """The driver's connection, without the calls that are the engine's to make."""

    __slots__ = ("driver_connection",)

    def __init__(self, driver_connection: Any):
        self.driver_connection = driver_connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver_connection, name)

    def commit(self) -> None:
        raise JobEngineError(
            "The engine commits this transaction: with the job's completion, or at the end of `with engine.transaction()`. "
            "To commit in the middle of long work, a handler calls ctx.save_checkpoint()."
        )

    def rollback(self) -> None:
        raise JobEngineError("The engine ends this transaction. To undo what was written in it, raise an exception.")

    def close(self) -> None:
        raise JobEngineError("The connection is the engine's, which goes on to use it.")
