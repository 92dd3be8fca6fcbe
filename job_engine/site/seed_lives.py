"""The lives of made-up jobs as the engine would have written them down: rows, histories, and what the counters count.

Pure: nothing here knows a database.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from job_engine.core import canonical
from job_engine.core.fingerprint import job_hash, new_name
from job_engine.core.priority import lane_of
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.site.seed_plan import ROUTINES, Trouble, slug
from job_engine.store import stats
from job_engine.store.retrying import BY_HAND
from job_engine.store.workers import Worker

_TRACEBACK = """Traceback (most recent call last):
  File "apps/shop/shop/jobs.py", line {line}, in {type}
    return client.send(payload)
  File "apps/shop/shop/client.py", line 88, in send
    raise error
{error}"""


@dataclass(frozen=True, slots=True)
class Event:
    """What a counter counts."""

    at: datetime
    job_type: str
    organization: str
    event: str
    seconds: float = 0.0


@dataclass(slots=True)
class Story:
    jobs: list[dict[str, Any]] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    dependencies: list[tuple[str, str]] = field(default_factory=list)  # job, parent
    workers: list[Worker] = field(default_factory=list)


class Lives:
    """Writes a story, one step of one job at a time."""

    def __init__(self, registry: Registry, now: datetime, rng: Random):
        self.registry = registry
        self.now = now
        self.rng = rng
        self.story = Story()
        self._number = 1000

    def new(self, type_name: str, organization: str, at: datetime, **columns: Any) -> dict[str, Any]:
        job_type = self.registry[type_name]
        self._number += 1
        params = canonical.encode(columns.pop("given", None) or ROUTINES[type_name].params(self.rng, self._number))
        priority = columns.get("priority", job_type.priority)
        job = {
            "name": new_name(int(at.timestamp() * 1000)),
            "job_type": type_name,
            "status": str(Status.QUEUED),
            "priority": priority,
            "queue": job_type.queue,
            "organization": organization,
            "user": f"user@{slug(organization)}.example.com",
            "params": params,
            "run_after": at,
            "attempts": 0,
            "max_attempts": job_type.max_attempts,
            "timeout": job_type.timeout,
            "job_hash": job_hash(type_name, organization, params),
            "lane": lane_of(priority, job_type.queue, organization, type_name),
            "creation": at,
            "modified": at,
            **columns,
        }
        self.story.jobs.append(job)
        return job

    # Ends of an attempt

    def complete(self, job: dict[str, Any], claimed: datetime, ended: datetime) -> None:
        job.update(
            status=str(Status.COMPLETED),
            started_at=claimed,
            ended_at=ended,
            modified=ended,
            progress=100.0,
            result="{}",
        )
        self._attempt(job, claimed, ended, Status.COMPLETED)

    def fail(self, job: dict[str, Any], claimed: datetime, ended: datetime, trouble: Trouble, due: datetime) -> None:
        status = Status.TIMED_OUT if trouble.times_out else Status.FAILED
        job.update(status=str(status), run_after=due, started_at=claimed, modified=ended, **self._error(job, trouble))
        self._attempt(job, claimed, ended, status, trouble)
        self.count(ended, job, stats.RETRIED)

    def die(self, job: dict[str, Any], claimed: datetime, ended: datetime, trouble: Trouble) -> None:
        reason = "permanent error" if trouble.is_permanent else "attempts exhausted"
        job.update(
            status=str(Status.DEAD_LETTER), started_at=claimed, ended_at=ended, modified=ended, reason=reason,
            progress=round(self.rng.uniform(0, 90)), **self._error(job, trouble),
        )  # fmt: skip
        self._attempt(job, claimed, ended, Status.DEAD_LETTER, trouble, reason)
        looked_at = ended + timedelta(minutes=self.rng.uniform(10, 400))
        if looked_at < self.now - timedelta(days=1) and self.rng.random() < 0.8:
            self._retry_by_hand(job, looked_at)

    def _retry_by_hand(self, job: dict[str, Any], at: datetime) -> None:
        manager = f"manager@{slug(job['organization'])}.example.com"
        self.note(job, at, job["status"], Status.QUEUED, actor=manager, reason=BY_HAND)
        self.count(at, job, stats.left(Status.DEAD_LETTER))
        job.update(attempts=1, reason=None)
        claimed = at + timedelta(seconds=1)
        self.count(claimed, job, stats.CLAIMED, 1.0)
        self.complete(job, claimed, claimed + timedelta(seconds=ROUTINES[job["job_type"]].seconds))

    def cancel(self, job: dict[str, Any], at: datetime) -> None:
        if at > self.now:
            return self.put_back(job)
        job.update(
            status=str(Status.CANCELED), ended_at=at, modified=at, canceled_by=job["user"], reason="canceled by hand"
        )
        self.note(job, at, str(Status.PENDING), Status.CANCELED, actor=job["user"], reason="canceled by hand")
        self.count(at, job, stats.entered(Status.CANCELED))

    def put_back(self, job: dict[str, Any]) -> None:
        """It would still be at work: another time."""
        later = self.now + timedelta(hours=self.rng.uniform(2, 20))
        job.update(status=str(Status.PENDING), run_after=later)

    # What is written down

    def _attempt(
        self, job: dict[str, Any], claimed: datetime, ended: datetime, status: Status, trouble: Trouble | None = None,
        reason: str | None = None,
    ) -> None:  # fmt: skip
        seconds = (ended - claimed).total_seconds()
        worker = self.rng.choice(self.story.workers).name
        details: dict[str, Any] = {"duration": round(seconds, 6), "worker": worker, "claimed_at": claimed}
        if trouble is not None:
            details.update(error=job["last_error"], error_type=job["error_type"], reason=reason)
        self.note(job, ended, str(Status.RUNNING), status, actor=worker, **details)
        self.count(ended, job, stats.entered(status), seconds)

    def note(self, job: dict[str, Any], at: datetime, before: str, after: Status, **details: Any) -> None:
        entry = {"job": job["name"], "creation": at, "from_status": before, "to_status": str(after)}
        self.story.log.append({**entry, "attempt": job["attempts"], **details})

    def count(self, at: datetime, job: dict[str, Any], event: str, seconds: float = 0.0) -> None:
        self.story.events.append(Event(at, job["job_type"], job["organization"], event, seconds))

    def _error(self, job: dict[str, Any], trouble: Trouble) -> dict[str, Any]:
        text = trouble.text.format(n=self._number)
        return {
            "last_error": text,
            "error_type": "Permanent" if trouble.is_permanent else "Transient",
            "traceback": _TRACEBACK.format(line=40 + len(job["job_type"]), type=job["job_type"], error=text),
        }
