"""Who takes jobs out of which queue: the bench's RQ workers, as they say themselves in Redis, and `bench job-engine work`.

A runner on a bench worker lives only while there is something to do: that no runner is at work says nothing about workers.
"""

from __future__ import annotations

from collections.abc import Collection

import redis
from frappe.utils.background_jobs import generate_qname

from job_engine.core.language import _
from job_engine.site import redis_queue
from job_engine.store.workers import Worker


def listening_workers() -> dict[str, int] | None:
    """Bench workers by queue: those that would start a runner. None: Redis, which knows them, cannot be reached."""
    own = generate_qname("")
    found: dict[str, int] = {}
    try:
        connection = redis_queue.connection()
        names = sorted(connection.smembers("rq:workers"))
        with connection.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.hget(name, "queues")
            served = pipeline.execute()
    except redis.exceptions.RedisError:
        return None
    for queues in served:
        for queue in (queues or b"").decode().split(","):
            if queue.startswith(own):
                found[queue.removeprefix(own)] = found.get(queue.removeprefix(own), 0) + 1
    return found


def served_queues(used: Collection[str], runners: Collection[Worker]) -> set[str]:
    """Every queue that has somebody. A worker that was given no queues serves all that are used."""
    own = {queue for worker in runners for queue in (used if worker.queues is None else worker.queues)}
    return own | set(listening_workers() or ())


def hint(queue: str, runners: Collection[Worker], command: str) -> str:
    """What an operator has to start before a job of this queue can run; empty where somebody serves it. While Redis cannot be
    reached nobody knows: `doctor` says that.
    """
    listening = listening_workers()
    if listening is None or queue in listening or any(worker.serves(queue) for worker in runners):
        return ""
    return _("No worker serves queue {0}: start one with `bench worker --queue {0}`, or with `{1} work`.").format(
        queue, command
    )
