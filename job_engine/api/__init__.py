"""The HTTP API: /api/method/job_engine.api.<name>. docs/api.md describes it for people, docs/openapi.json for programs."""

from __future__ import annotations

from job_engine.api.canceling import cancel_job
from job_engine.api.listing import list_jobs
from job_engine.api.measuring import (
    dead_letter_causes,
    get_job_metrics,
    organization_ledger,
    prometheus,
    workers,
)
from job_engine.api.pausing import pause, resume
from job_engine.api.reading import explain_job, get_job, get_job_history, get_job_status
from job_engine.api.retrying import retry_job, retry_jobs
from job_engine.api.submitting import schedule, submit_job

__all__ = [
    "cancel_job",
    "dead_letter_causes",
    "explain_job",
    "get_job",
    "get_job_history",
    "get_job_metrics",
    "get_job_status",
    "list_jobs",
    "organization_ledger",
    "pause",
    "prometheus",
    "resume",
    "retry_job",
    "retry_jobs",
    "schedule",
    "submit_job",
    "workers",
]
