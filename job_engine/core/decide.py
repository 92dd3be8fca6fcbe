"""What becomes of an attempt that raised. Pure: the error and the time in, an outcome out; somebody else writes it."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from job_engine.core.classify import Classifier, ErrorType
from job_engine.core.error_text import clean, describe
from job_engine.core.errors import GivenBack, JobCanceled, JobTimeout, Snooze
from job_engine.core.job import Job, Outcome
from job_engine.core.retry import MAX_DELAY, RetryPolicy
from job_engine.core.states import Status


def decide(
    job: Job,
    error: BaseException,
    retry: RetryPolicy,
    classifier: Classifier,
    now: datetime,
    duration: float,
    rng: random.Random | None = None,
    error_bytes: int = 8192,
) -> Outcome:
    base = Outcome.of(job, Status.FAILED, duration)
    if isinstance(error, Snooze):
        return _snoozed(base, error, now)
    if isinstance(error, GivenBack):
        return base.evolve(status=Status.QUEUED, give_back=True, reason=str(error))
    if isinstance(error, JobCanceled):
        return base.evolve(status=Status.CANCELED, reason="canceled while it was running")
    text = describe(error, error_bytes)
    base = base.evolve(error=text.summary, traceback=text.traceback)
    verdict = classifier.classify(error, now)
    if verdict.error_type is ErrorType.PERMANENT:
        return base.evolve(status=Status.DEAD_LETTER, error_type="Permanent", reason=f"permanent: {verdict.reason}")
    if job.attempts >= job.max_attempts:
        return base.evolve(
            status=Status.DEAD_LETTER,
            error_type="Transient",
            reason=f"all {job.max_attempts} attempts were used",
        )
    delay = verdict.retry_after if verdict.retry_after is not None else retry.delay(job.attempts, rng)
    return base.evolve(
        status=Status.TIMED_OUT if isinstance(error, JobTimeout) else Status.FAILED,
        error_type="Transient",
        run_after=now + timedelta(seconds=min(max(0.0, delay), MAX_DELAY)),
        reason=verdict.reason,
    )


def _snoozed(base: Outcome, snooze: Snooze, now: datetime) -> Outcome:
    seconds = min(max(0.0, snooze.seconds), MAX_DELAY)
    return base.evolve(
        status=Status.PENDING if seconds else Status.QUEUED,
        give_back=True,
        run_after=now + timedelta(seconds=seconds),
        reason=clean(str(snooze)),
    )
