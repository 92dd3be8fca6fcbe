"""From a stored job back to its type, here and now: code may have changed since it was enqueued."""

from __future__ import annotations

from typing import Any

from job_engine.core.errors import UnknownJobType
from job_engine.core.job import Job
from job_engine.core.job_type import JobType
from job_engine.core.registry import Registry, type_of_path
from job_engine.store.controls import Key, Limit


def type_of(registry: Registry, job: Job) -> JobType:
    """The job's type. Where its handler cannot be found, one whose handler says so."""
    known = registry.get(job.job_type)
    if known is not None:
        return known
    if job.handler is None:
        return _unknown(registry, job)
    try:
        return type_of_path(job.handler)
    except UnknownJobType:
        return _unknown(registry, job)


def code_limits(registry: Registry) -> dict[Key, Limit]:
    """The limits that the types' own code asks for."""
    return {
        ("type", t.name): Limit(t.concurrency, t.rate)
        for t in registry
        if t.concurrency is not None or t.rate is not None
    }


def _unknown(registry: Registry, job: Job) -> JobType:
    def handler(**params: Any) -> None:
        if job.handler is not None:
            type_of_path(job.handler)  # raises, and says why
        registry[job.job_type]

    return JobType(name=job.job_type, handler=handler, wants_context=False)
