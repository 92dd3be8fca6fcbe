"""The Store port: what the engine asks of whatever keeps its jobs, one sentence for each call.

`job_engine/tests/contract.py` says the same in tests; a store that passes them can carry the engine's promises. A call that
ends an attempt names the job, the worker and the attempt, in that order, and raises LeaseLost where that is no longer the owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from job_engine.core.clock import Clock
from job_engine.core.job import Job, Outcome, Transition
from job_engine.core.states import Status
from job_engine.store.inserting import NewJob
from job_engine.store.leasing import Held


class Store(Protocol):
    now: Clock  # the store's time, timezone-aware UTC

    # Enqueue

    def insert(self, new: Sequence[NewJob]) -> list[Job]:
        """Insert all or none; where a unique key is taken, answer with the job that has it."""

    # Claim and hold

    def claim_batch(self, worker_id: str, limit: int, queues: tuple[str, ...] | None = None) -> list[Job]:
        """Make up to `limit` queued jobs Running for this worker: by priority, fair between organizations, then by age."""

    def heartbeat(self, worker_id: str, names: Sequence[str]) -> list[Held]:
        """Extend the leases of these jobs; what is missing in the answer is no longer this worker's."""

    def held(self, worker_id: str, names: Sequence[str] | None = None) -> list[Held]:
        """The jobs this worker holds, and which of them somebody wants canceled."""

    def save_progress(self, name: str, worker_id: str, attempt: int, progress: float, message: str | None) -> None:
        """Record how far a running job is."""

    def save_checkpoint(self, name: str, worker_id: str, attempt: int, checkpoint: str) -> None:
        """Record what the next attempt should start from."""

    # End attempts

    def mark_success(self, name: str, worker_id: str, attempt: int, result: Any = None) -> None:
        """Running -> Completed; dependents that wait for nothing else are queued."""

    def mark_retry(self, name: str, worker_id: str, attempt: int, run_after: datetime, error: str) -> None:
        """Running -> Failed until `run_after`, or Dead Letter when no attempt is left."""

    def mark_failed(self, name: str, worker_id: str, attempt: int, error: str) -> None:
        """Running -> Dead Letter."""

    def release(self, name: str, worker_id: str, attempt: int) -> None:
        """Running -> Queued, the attempt given back."""

    def finish(self, worker_id: str, outcomes: Sequence[Outcome]) -> set[str]:
        """Any of the above for many attempts in one transaction; the names of those that were no longer this worker's."""

    def end_lost_attempt(self, name: str, worker_id: str, attempt: int) -> bool:
        """The same as `rescue` for one job whose worker is known to be dead; False when it was not its any more."""

    # The tick

    def promote(self) -> int:
        """Pending, Failed and Timed Out -> Queued, for what is due and waits for nothing else; how many."""

    def rescue(self) -> int:
        """Running -> Queued, Dead Letter or Canceled, for what has an expired lease; how many."""

    def next_due(self) -> datetime | None:
        """When `promote` will next have something to do, as far as the clock decides that."""

    def prune(self, status: Status, ended_before: datetime) -> int:
        """Delete ended jobs of this state with their history, in small batches; how many."""

    # By hand

    def cancel(self, name: str, by: str | None = None, reason: str | None = None) -> Status:
        """Cancel what waits, with its dependents; ask what runs to stop. The state the job is in now."""

    def retry(self, name: str, by: str | None = None, run_after: datetime | None = None) -> Status:
        """Dead Letter or Canceled -> Queued (or Pending, for later or behind a parent), with all attempts anew."""

    def pause(self, scope: str, target: str, by: str | None = None, reason: str | None = None) -> None:
        """Let nothing of this type, queue or organization, or nothing at all, be claimed."""

    def resume(self, scope: str, target: str) -> bool:
        """Undo a pause; False when there was none."""

    # Look

    def get(self, name: str) -> Job | None:
        """The job as it is now."""

    def history(self, job: Job) -> list[Transition]:
        """Every change of its state, oldest first."""

    def parents_of(self, name: str) -> list[tuple[str, Status]]:
        """What the job depends on."""

    def dependents_of(self, name: str) -> list[str]:
        """What depends on the job."""
