"""Durable background jobs: in a Frappe site, or in any Python program on SQLite, PostgreSQL or MariaDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from job_engine.context import JobContext
    from job_engine.core.classify import ErrorType, default_classifier
    from job_engine.core.errors import (
        JobCanceled,
        JobEngineError,
        JobTimeout,
        LeaseLost,
        PermanentError,
        Snooze,
        TransientError,
    )
    from job_engine.core.job import Job
    from job_engine.core.registry import Registry, job
    from job_engine.core.retry import RetryPolicy
    from job_engine.core.states import Status
    from job_engine.engine import Engine
    from job_engine.site import enqueue, enqueue_many

# A web process imports this package at every start and may never touch a job: nothing is loaded before it is used.
_HOMES = {
    "Engine": "job_engine.engine",
    "ErrorType": "job_engine.core.classify",
    "Job": "job_engine.core.job",
    "JobCanceled": "job_engine.core.errors",
    "JobContext": "job_engine.context",
    "JobEngineError": "job_engine.core.errors",
    "JobTimeout": "job_engine.core.errors",
    "LeaseLost": "job_engine.core.errors",
    "PermanentError": "job_engine.core.errors",
    "Registry": "job_engine.core.registry",
    "RetryPolicy": "job_engine.core.retry",
    "Snooze": "job_engine.core.errors",
    "Status": "job_engine.core.states",
    "TransientError": "job_engine.core.errors",
    "default_classifier": "job_engine.core.classify",
    "enqueue": "job_engine.site",
    "enqueue_many": "job_engine.site",
    "job": "job_engine.core.registry",
}

__all__ = [
    "Engine",
    "ErrorType",
    "Job",
    "JobCanceled",
    "JobContext",
    "JobEngineError",
    "JobTimeout",
    "LeaseLost",
    "PermanentError",
    "Registry",
    "RetryPolicy",
    "Snooze",
    "Status",
    "TransientError",
    "__version__",
    "default_classifier",
    "enqueue",
    "enqueue_many",
    "job",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
