"""What the demo shows, read from the database as any monitor could: it asks nothing of the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from job_engine.core.job import Job
from job_engine.core.states import ENDED, Status
from job_engine.engine import Engine
from job_engine.store.reading import Filter
from job_engine.store.workers import Worker

_NEWS = "SELECT id, job, from_status, to_status, attempt, error, reason FROM {log} WHERE id > %s ORDER BY id"


@dataclass(frozen=True, slots=True)
class News:
    """A job changed its state."""

    job: str
    before: Status
    after: Status
    attempt: int
    error: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Look:
    counts: Mapping[Status, int]
    running: Sequence[Job]
    workers: Sequence[Worker]
    news: Sequence[News]

    @property
    def jobs(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        return sum(n for status, n in self.counts.items() if status in ENDED)

    @property
    def all_ended(self) -> bool:
        return self.ended == self.jobs

    def job(self, name: str) -> Job | None:
        """The job, while it runs."""
        return next((job for job in self.running if job.name == name), None)

    def worker_of(self, job: Job) -> Worker | None:
        return next((worker for worker in self.workers if worker.name == job.lease_owner), None)


class Feed:
    def __init__(self, engine: Engine):
        self._engine = engine
        self._seen = 0

    def look(self) -> Look:
        store = self._engine.store
        # The news last: whoever sees that all jobs have ended has the news of their ends as well.
        counts = {Status(status): n for status, n in store.count_by(Filter(), ["status"])}
        running = store.find(Filter(status=Status.RUNNING), 1000)
        workers = store.workers()
        return Look(counts, running, workers, self._news())

    def _news(self) -> list[News]:
        with self._engine.store.session() as session:
            rows = session.rows(_NEWS, (self._seen,))
        if rows:
            self._seen = rows[-1][0]
        return [News(job, Status(before), Status(after), *rest) for _, job, before, after, *rest in rows]
