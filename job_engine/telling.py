"""The log line about an attempt: what happened, and what happens next."""

from __future__ import annotations

import logging
from typing import Any

from job_engine.core.job import Job, Outcome
from job_engine.core.states import Status

log = logging.getLogger("job_engine.runner")


def tell(job: Job, outcome: Outcome, command: str) -> None:
    """`command`: what operators type in this home."""
    if outcome.status is Status.COMPLETED:
        if log.isEnabledFor(logging.DEBUG):
            log.debug("Job %s of type %s is Completed", job.name, job.job_type, extra=_fields(job, outcome))
        return
    level = logging.INFO if outcome.give_back else logging.WARNING
    if outcome.status is Status.DEAD_LETTER:
        level, then = logging.ERROR, f"it needs a person: see `{command} show` and `{command} retry`"
    elif outcome.run_after is not None:
        then = f"it will run again at {outcome.run_after:%Y-%m-%d %H:%M:%S} UTC"
    else:
        then = "it will run again" if outcome.status is Status.QUEUED else "nothing follows"
    log.log(
        level,
        "Job %s of type %s is %s after attempt %s of %s (%s); %s",
        job.name,
        job.job_type,
        outcome.status,
        job.attempts,
        job.max_attempts,
        outcome.error or outcome.reason,
        then,
        extra=_fields(job, outcome),
    )


def _fields(job: Job, outcome: Outcome) -> dict[str, Any]:
    return {
        "action": str(outcome.status).lower().replace(" ", "_"),
        "job": job.name,
        "job_type": job.job_type,
        "attempt": job.attempts,
        "organization": job.organization,
    }
