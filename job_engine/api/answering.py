"""From values of the engine to what the API answers with: values for JSON, without secrets, with times in UTC."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from job_engine.api.answers import Changed, HistoryEntry, JobRow, JobStanding, JobStatus, Submitted
from job_engine.core import canonical
from job_engine.core.errors import UndecodablePayload
from job_engine.core.job import Job, Transition
from job_engine.core.redact import redact, redact_text

OUTPUT_WORDS = ("output_reference", "file_url", "file")


def iso(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(timezone.utc).isoformat()


def submitted(job: Job) -> Submitted:
    return {
        "name": job.name,
        "status": str(job.status),
        "created": bool(job.created),
        "job_type": job.job_type,
        "organization": job.organization,
        "run_after": iso(job.run_after) or "",
    }


def status_of(job: Job) -> JobStatus:
    result = clean_json(job.result_json)
    return {
        **_standing_of(job),
        "has_ended": job.has_ended,
        "cancel_requested": job.cancel_requested_at is not None,
        "error": clean_text(job.last_error),
        "result": result,
        "output_reference": output_reference(result),
    }


def row_of(job: Job) -> JobRow:
    return {
        **_standing_of(job),
        "organization": job.organization,
        "priority": job.priority,
        "queue": job.queue,
        "user": job.user,
        "error_type": job.error_type,
        "last_error": clean_text(job.last_error),
        "creation": iso(job.creation) or "",
    }


def _standing_of(job: Job) -> JobStanding:
    return {
        "name": job.name,
        "job_type": job.job_type,
        "status": str(job.status),
        "progress": float(job.progress),
        "progress_message": clean_text(job.progress_message),
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "run_after": iso(job.run_after) or "",
        "started_at": iso(job.started_at),
        "ended_at": iso(job.ended_at),
        "modified": iso(job.modified) or "",
    }


def changed(job: Job) -> Changed:
    return {
        "name": job.name,
        "status": str(job.status),
        "run_after": iso(job.run_after) or "",
        "cancel_requested": job.cancel_requested_at is not None and not job.has_ended,
    }


def entry_of(transition: Transition) -> HistoryEntry:
    return {
        "at": iso(transition.at) or "",
        "from_status": transition.from_status and str(transition.from_status),
        "to_status": str(transition.to_status),
        "attempt": transition.attempt,
        "actor": transition.actor,
        "duration": transition.duration,
        "error_type": transition.error_type,
        "error": clean_text(transition.error),
        "reason": clean_text(transition.reason),
        "processed": transition.processed,
        "failed": transition.failed,
    }


def clean_text(text: str | None) -> str | None:
    return text and redact_text(text)


def clean_json(stored: str | None) -> Any:
    """What is stored as JSON, without secrets. A text that somebody has spoiled is no reason to hide the rest of a job."""
    if stored is None:
        return None
    try:
        return redact(canonical.decode_any(stored))
    except UndecodablePayload as error:
        return f"({error})"


def output_reference(result: Any) -> str | None:
    """What the result names as its output."""
    if not isinstance(result, dict):
        return None
    found = next((result[word] for word in OUTPUT_WORDS if result.get(word)), None)
    return found if isinstance(found, str) else None
