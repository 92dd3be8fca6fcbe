"""Wake-ups: one RQ job says "there is work in this queue" for however many jobs. What work that is, the database knows.

A runner that lingers is told directly; otherwise an RQ job is pushed, unless one is already waiting. A wake-up that gets lost
costs time, never a job: the tick looks for what waits and wakes again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import frappe
import redis
from frappe import _
from frappe.utils.background_jobs import create_job_id, generate_qname, get_queues_timeout
from rq import Queue

from job_engine.core.errors import InvalidJob
from job_engine.core.priority import Lane, lane_ranges
from job_engine.site import redis_queue
from job_engine.site.job_types import SiteRegistry, isolated

if TYPE_CHECKING:
    from job_engine.site.engines import SiteEngine

log = logging.getLogger("job_engine.wakeups")

RUNNER = "job_engine.site.runner.start"
LONGEST_SECONDS = 86_400  # RQ's own limit of a runner; jobs have timeouts of their own, kept by the engine
FAILURE_SECONDS = 86_400  # so long a runner that failed is shown among the RQ jobs
PENDING_SECONDS = 60  # so long one waiting wake-up stands for others: the next is not held up for longer if it got lost
MOST_LANES = 500


def check_queue(queue: str) -> None:
    """A job in a queue that no worker of the bench serves would wait for ever."""
    known = get_queues_timeout()
    if queue not in known:
        raise InvalidJob(
            _(
                "This bench has no queue {0!r}. There are: {1}. More are named under `workers` in"
                " common_site_config.json."
            ).format(queue, ", ".join(sorted(known)))
        )


@dataclass(frozen=True, slots=True)
class WakeUp:
    """Called by Frappe after the commit. Equal ones are one: a loop of 10,000 enqueues wakes once."""

    queue: str
    alone: bool

    def __call__(self) -> None:
        wake(self.queue, self.alone)


_wake_up = lru_cache(WakeUp)  # every enqueue asks for one, nearly always for the same


def after_commit(queues_and_types: Collection[tuple[str, str]], known: SiteRegistry) -> None:
    """Wake runners for jobs of these (queue, type) when the caller commits."""
    waiting = frappe.local.db.after_commit
    for queue, job_type in queues_and_types:
        wanted = _wake_up(queue, known.is_isolated(job_type))
        if wanted not in waiting._functions:
            waiting.add(wanted)


def wake(queue: str, alone: bool = False, even_if_pending: bool = False) -> bool:
    """Have a runner look at the queue soon. Never raises: False where Redis could not be reached."""
    try:
        connection = redis_queue.connection()
        if not alone and connection.publish(channel(queue), "work"):
            return True
        pending = pending_key(queue, alone)
        if connection.set(pending, 1, nx=not even_if_pending, ex=PENDING_SECONDS):
            _push(connection, queue, alone)
        return True
    except redis.exceptions.RedisError as error:
        log.warning(
            "Redis cannot be reached (%s). The jobs are safe and will be found by the next tick",
            error,
            extra={"action": "wake_up_lost"},
        )
        return False


def _push(connection: redis.Redis, queue: str, alone: bool) -> None:
    """An RQ job that calls the runner itself. The way through frappe.enqueue would first do what is done around every job."""
    told = {"site": frappe.local.site, "for_queue": queue, "alone": alone, "job_name": RUNNER, "user": "Administrator"}
    Queue(generate_qname(queue), connection=connection).enqueue_call(
        RUNNER,
        kwargs=told,
        timeout=LONGEST_SECONDS,
        result_ttl=0,  # what it did is in the database
        failure_ttl=FAILURE_SECONDS,
        job_id=create_job_id(None),
    )


def channel(queue: str) -> str:
    """Where a lingering runner of the queue listens."""
    return redis_queue.key("work", queue)


def pending_key(queue: str, alone: bool) -> str:
    """Is there while a wake-up waits in RQ that no runner has taken up yet."""
    return redis_queue.key("pending", queue, "alone" if alone else "batch")


def is_waiting(engine: SiteEngine, queue: str) -> bool:
    """Whether a job is queued there."""
    with engine.store.session() as session:
        return bool(engine.store.dialect.walk_lanes(session, lane_ranges((queue,)), 1))


def wake_waiting(engine: SiteEngine, even_if_pending: bool = False) -> set[tuple[str, bool]]:
    """Wake runners for every queue in which jobs wait that may run now. Returns (queue, alone) of those."""
    with engine.store.session() as session:
        lanes = [Lane.parse(text) for text in engine.store.dialect.walk_lanes(session, lane_ranges(None), MOST_LANES)]
        in_force = engine.store.controls_on(session) if lanes else None
    apart = isolated(engine.registry)
    wanted = {(lane.queue, lane.job_type in apart) for lane in lanes if in_force and in_force.pause_of(lane) is None}
    for queue, alone in wanted:
        wake(queue, alone, even_if_pending)
    return wanted


def wake_dependents(engine: SiteEngine, completed: Sequence[str]) -> None:
    """Completed jobs may have let others go, in any queue."""
    if not completed:
        return
    with engine.store.session() as session:
        those, names = engine.store.dialect.among("d.parent", completed)
        rows = session.rows(
            f"SELECT DISTINCT j.queue, j.job_type FROM {{dependency}} d JOIN {{job}} j ON j.name = d.job"
            f" WHERE {those} AND j.status = 'Queued'",
            names,
        )
    apart = isolated(engine.registry) if rows else frozenset()
    for queue, alone in {(queue, job_type in apart) for queue, job_type in rows}:
        wake(queue, alone)
