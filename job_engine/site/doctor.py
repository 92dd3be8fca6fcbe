"""`bench job-engine doctor`: what the standalone doctor looks at, and what only a bench has: Redis, RQ workers, a scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone

import frappe
import redis

from job_engine.doctor.database import check_clock, check_database
from job_engine.doctor.finding import Finding, Level
from job_engine.doctor.jobs import check_waiting
from job_engine.site import redis_queue, serving, tables
from job_engine.site.engines import RunnersEngine
from job_engine.site.surroundings import site_waits
from job_engine.store import measuring
from job_engine.store.session import Session

TICK = "job_engine.site.scheduler.tick"
LATE = timedelta(minutes=5)


def examine(engine: RunnersEngine) -> Iterator[Finding]:
    """Every finding, in the order in which an operator would ask."""
    reachable, session = check_database(engine)
    yield reachable
    if session is None:
        return
    there = check_tables(set(frappe.db.get_tables(cached=False)))
    yield there
    yield check_clock(engine.store.now(), datetime.now(timezone.utc))
    yield check_apps(len(engine.registry))
    yield from check_scheduler(engine.command)
    yield check_redis()
    if there.level is Level.OK:
        used = _used_queues(engine, session)
        yield check_queues(used, serving.served_queues(used, engine.store.workers()), engine.command)
        yield from check_waiting(engine, session)


def check_tables(present: set[str]) -> Finding:
    missing = sorted({tables.JOB, tables.LOG, *tables.INTERNAL.values()} - present)
    if not missing:
        return Finding("tables", Level.OK, "all are there")
    return Finding(
        "tables",
        Level.PROBLEM,
        f"missing: {', '.join(missing)}",
        f"bench --site {frappe.local.site} migrate makes them.",
    )


def check_apps(job_types: int) -> Finding:
    """None is no problem: functions can be enqueued by their dotted path."""
    site = frappe.local.site
    if job_types:
        return Finding("application", Level.OK, f"the apps of {site} register {job_types} job types")
    return Finding(
        "application", Level.OK, f"no app of {site} registers a job type; functions are enqueued by their path"
    )


def check_scheduler(command: str) -> Iterator[Finding]:
    site = frappe.local.site
    if site_waits(anew=True):
        yield Finding(
            "scheduler",
            Level.PROBLEM,
            "the site is under maintenance, or its scheduler is off: all jobs wait",
            f"bench --site {site} set-maintenance-mode off, or bench --site {site} enable-scheduler.",
        )
        return
    event = frappe.db.get_value("Scheduled Job Type", {"method": TICK}, ["stopped", "last_execution"], as_dict=True)
    if event is None or event.stopped:
        says = "the tick is stopped" if event else "the tick is not among the Scheduled Job Types"
        yield Finding("scheduler", Level.PROBLEM, says, f"bench --site {site} migrate puts it there; start it in Desk.")
    elif event.last_execution is None or frappe.utils.now_datetime() - event.last_execution > LATE:
        yield Finding(
            "scheduler",
            Level.WARNING,
            f"the tick last ran at {event.last_execution or 'no time'}",
            "Does `bench schedule` run, and is a worker free? Retries and schedules wait for the tick, or for "
            f"`{command} dispatch`.",
        )
    else:
        yield Finding("scheduler", Level.OK, f"the tick last ran at {event.last_execution:%Y-%m-%d %H:%M:%S}")


def check_redis() -> Finding:
    try:
        redis_queue.connection().ping()
    except redis.exceptions.RedisError as error:
        return Finding(
            "redis",
            Level.PROBLEM,
            f"the queue's Redis cannot be reached: {error}",
            "Start it. No job is lost: the tick wakes runners when it is back.",
        )
    return Finding("redis", Level.OK, f"reachable at {frappe.local.conf.redis_queue}")


def check_queues(used: Iterable[str], served: set[str], command: str) -> Finding:
    """Whether each queue in which jobs wait, or that a type names, has somebody who takes jobs out of it."""
    abandoned = sorted(set(used) - served)
    if not served:
        return Finding(
            "workers", Level.PROBLEM, "no worker of this bench is alive", f"Start `bench worker`, or `{command} work`."
        )
    if abandoned:
        return Finding(
            "workers",
            Level.PROBLEM,
            f"no worker serves: {', '.join(abandoned)}",
            f"Start `bench worker --queue {','.join(abandoned)}`, or `{command} work`.",
        )
    return Finding("workers", Level.OK, f"every queue is served: {', '.join(sorted(served))}")


def _used_queues(engine: RunnersEngine, session: Session) -> set[str]:
    waiting = {lane.queue for lane, _ in measuring.waiting_lanes(session)}
    return waiting | {job_type.queue for job_type in engine.registry}
