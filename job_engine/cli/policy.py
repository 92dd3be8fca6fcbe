"""A type's policy in words and in JSON."""

from __future__ import annotations

from typing import Any

from job_engine.cli.times import duration_text
from job_engine.core.job_type import JobType
from job_engine.store.controls import Limit

_SHOWN_DELAYS = 6


def limit_text(limit: Limit | None) -> str:
    parts: list[str] = []
    if limit is not None and limit.concurrency is not None:
        parts.append(f"{limit.concurrency} at once")
    if limit is not None and limit.rate is not None:
        parts.append(f"{limit.rate.count} in {duration_text(limit.rate.seconds)}")
    return ", ".join(parts)


def limit_shape(limit: Limit | None) -> dict[str, Any]:
    rate = limit.rate if limit is not None else None
    return {
        "concurrency": limit.concurrency if limit is not None else None,
        "rate": None if rate is None else {"count": rate.count, "seconds": rate.seconds},
    }


def retry_text(job_type: JobType) -> str:
    """The waits between its attempts, as they come: "1min, 2min, 4min, 8min"."""
    waits = job_type.retry.schedule(min(job_type.max_attempts - 1, _SHOWN_DELAYS))
    more = ", ..." if job_type.max_attempts - 1 > _SHOWN_DELAYS else ""
    return ", ".join(duration_text(wait).replace(" ", "") for wait in waits) + more


def type_shape(job_type: JobType, limit: Limit | None, paused: bool) -> dict[str, Any]:
    return {
        "name": job_type.name,
        "handler": handler_text(job_type),
        **job_type.policy(),
        **limit_shape(limit),
        "paused": paused,
    }


def handler_text(job_type: JobType) -> str:
    handler = job_type.handler
    return f"{handler.__module__}.{getattr(handler, '__qualname__', type(handler).__qualname__)}"
