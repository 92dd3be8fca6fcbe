"""rq's default worker: it forks a process for every job.

Settings, and why these:
- `rq.Worker`, the class that `rq worker` starts, in burst mode. (rq's SimpleWorker does not fork and is quicker; it is not
  the default, and a job that crashes takes it down.)
- The job's module is imported before the worker starts, as rq's documentation advises, so that no fork imports it again.
- Logging at WARNING instead of two lines for each job.
- Results as by default: kept for 500 seconds.
"""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from redis import Redis
from rq import Queue, Worker

from benchmarks import servers
from benchmarks.peers import rq_job, worker

_FILL_BATCH = 500


class RqRedis:
    """A queue of its own, one default worker."""

    name = "rq"
    settings = "default worker (a fork for each job), burst, job's module preloaded"

    def __init__(self, folder: Path) -> None:
        self._url = servers.url("redis")
        self._redis = Redis.from_url(self._url)
        self._queue = Queue(f"job-engine-benchmark-{uuid4().hex}", connection=self._redis)

    def fill(self, jobs: int) -> None:
        for start in range(0, jobs, _FILL_BATCH):
            count = min(_FILL_BATCH, jobs - start)
            self._queue.enqueue_many([Queue.prepare_data(rq_job.noop) for _ in range(count)])

    def worker(self) -> list[str]:
        return worker.command(__name__, self._queue.name)

    def environment(self) -> dict[str, str]:
        return worker.environment(self._url)

    def finished(self) -> int:
        return self._queue.finished_job_registry.get_job_count(cleanup=False)

    def close(self) -> None:
        """Delete the jobs that ran and the queue: the server may be somebody's own."""
        registry = self._queue.finished_job_registry
        for job in registry.get_job_ids(cleanup=False):
            registry.remove(job, delete_job=True)
        self._queue.delete(delete_jobs=True)
        self._redis.close()


def work(queue: str) -> None:
    rq_job.tally()
    with Redis.from_url(worker.address()) as redis:
        Worker([Queue(queue, connection=redis)], connection=redis).work(burst=True, logging_level="WARNING")
