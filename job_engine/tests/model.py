"""A store in a dictionary: what the engine should do, said as simply as possible. Property tests compare the two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from job_engine.core.states import CANCELABLE, ENDED, RETRYABLE, WAITING, Status

S = Status
LEASE = timedelta(seconds=60)
Claim = tuple[str, str, int]


@dataclass
class ModelJob:
    name: str
    job_type: str
    organization: str | None
    priority: str
    status: Status
    run_after: datetime
    max_attempts: int
    creation: datetime
    job_hash: str
    dedup_key: str | None = None
    parents: set[str] = field(default_factory=set)
    attempts: int = 0
    lost: int = 0
    owner: str | None = None
    lease_ends: datetime | None = None
    ended_at: datetime | None = None
    cancel_wanted: bool = False


class Model:
    def __init__(self) -> None:
        self.jobs: dict[str, ModelJob] = {}
        self.slots: dict[str, str] = {}  # job_hash: the active job that stands for it
        self.paused: set[tuple[str, str]] = set()
        self.completions: dict[str, int] = {}

    # Questions

    def blockers(self, job: ModelJob) -> int:
        return sum(self.jobs[p].status is not S.COMPLETED for p in job.parents if p in self.jobs)

    def twin(
        self, organization: str | None, key: str | None, job_hash: str, window: float, now: datetime
    ) -> str | None:
        """The job that stands for one which is about to be enqueued."""
        if key is not None:
            return next(
                (j.name for j in self.jobs.values() if (j.organization, j.dedup_key) == (organization, key)), None
            )
        holder = self.jobs.get(self.slots.get(job_hash, ""))
        young = holder is not None and holder.creation > now - timedelta(seconds=window)
        return holder.name if window and holder is not None and young else None

    def claimable(self) -> list[ModelJob]:
        return [j for j in self.jobs.values() if j.status is S.QUEUED and not self.is_paused(j)]

    def is_paused(self, job: ModelJob) -> bool:
        keys = {("everything", ""), ("type", job.job_type), ("organization", job.organization or "")}
        return bool(keys & self.paused)

    def owns(self, claim: Claim) -> bool:
        job = self.jobs.get(claim[0])
        return job is not None and job.status is S.RUNNING and (job.owner, job.attempts) == claim[1:]

    def held_by(self, worker: str) -> set[str]:
        return {j.name for j in self.jobs.values() if j.status is S.RUNNING and j.owner == worker}

    def due(self, now: datetime) -> list[ModelJob]:
        waiting = [j for j in self.jobs.values() if j.status in WAITING and j.run_after <= now]
        return [j for j in waiting if not self.blockers(j)]

    def expired(self, now: datetime) -> list[ModelJob]:
        running = [j for j in self.jobs.values() if j.status is S.RUNNING]
        return [j for j in running if j.lease_ends is not None and j.lease_ends < now]

    # Changes

    def enqueue(self, job: ModelJob, window: float, now: datetime) -> None:
        self.jobs[job.name] = job
        job.status = S.PENDING if self.blockers(job) or job.run_after > now else S.QUEUED
        if window and job.dedup_key is None:
            self.slots[job.job_hash] = job.name

    def claim(self, name: str, worker: str, now: datetime) -> None:
        job = self.jobs[name]
        job.status, job.owner, job.lease_ends = S.RUNNING, worker, now + LEASE
        job.attempts += 1

    def finish(self, claim: Claim, status: Status, now: datetime, run_after: datetime | None, give_back: bool) -> None:
        job = self.jobs[claim[0]]
        if status not in ENDED and job.cancel_wanted:
            status, give_back = S.CANCELED, False
        elif status not in ENDED and not give_back and job.attempts >= job.max_attempts:
            status, run_after = S.DEAD_LETTER, None
        if give_back:
            job.attempts -= 1
        if run_after is not None and status not in ENDED:
            job.run_after = run_after
        self._leave(job, status, now)

    def rescue(self, now: datetime) -> int:
        expired = self.expired(now)
        for job in expired:
            exhausted = job.attempts >= job.max_attempts
            job.lost += 1
            status = S.CANCELED if job.cancel_wanted else S.DEAD_LETTER if exhausted else S.QUEUED
            if status is S.QUEUED:
                job.run_after = now  # behind those that wait: it may be what killed its worker
            self._leave(job, status, now)
        return len(expired)

    def promote(self, now: datetime) -> int:
        due = self.due(now)
        for job in due:
            job.status = S.QUEUED
        return len(due)

    def cancel(self, name: str, now: datetime) -> bool:
        job = self.jobs[name]
        if job.status not in CANCELABLE:
            return False
        if job.status is S.RUNNING:
            job.cancel_wanted = True
        else:
            self._leave(job, S.CANCELED, now)
        return True

    def retry(self, name: str, now: datetime, run_after: datetime) -> bool:
        job = self.jobs[name]
        if job.status not in RETRYABLE:
            return False
        job.attempts = job.lost = 0
        job.cancel_wanted, job.ended_at, job.run_after = False, None, run_after
        job.status = S.PENDING if self.blockers(job) or run_after > now else S.QUEUED
        return True

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            del self.jobs[name]
        for job in self.jobs.values():
            job.parents &= self.jobs.keys()

    def _leave(self, job: ModelJob, status: Status, now: datetime) -> None:
        """To `status`, with what follows from it for the others."""
        job.status, job.owner, job.lease_ends = status, None, None
        if status not in ENDED:
            return
        job.ended_at = now
        if self.slots.get(job.job_hash) == job.name:
            del self.slots[job.job_hash]
        children = [j for j in self.jobs.values() if job.name in j.parents]
        if status is S.COMPLETED:
            self.completions[job.name] = self.completions.get(job.name, 0) + 1
            for child in children:
                if child in self.due(now):
                    child.status, child.run_after = S.QUEUED, now  # it waited for its parent until this moment
        elif status is S.CANCELED:
            for child in children:
                if child.status in WAITING | {S.QUEUED}:
                    self._leave(child, S.CANCELED, now)
