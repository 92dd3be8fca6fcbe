"""Look at one job."""

from __future__ import annotations

from collections.abc import Sequence

from job_engine.api import answering, answers
from job_engine.api.method import method
from job_engine.api.permission import hidden, is_manager, visible
from job_engine.core.job import Job
from job_engine.core.states import CANCELABLE, RETRYABLE
from job_engine.site import engine, listing

MOST_RELATIVES = 200


@method()
def get_job_status(name: str) -> answers.JobStatus:
    """How far a job is: the quick question for whoever waits for it.

    name: The job.
    """
    return answering.status_of(visible(name))


@method()
def get_job(name: str) -> answers.JobDetail:
    """Everything about a job that the caller may know, and what they may do with it.

    Secrets in its parameters and results are masked; the traceback is for managers.

    name: The job.
    """
    job = visible(name)
    result = answering.clean_json(job.result_json)
    manager = is_manager()
    parents = [name for name, _ in engine().store.parents_of(job.name)]
    return {
        **answering.row_of(job),
        "explanation": _explanation(job),
        "reason": answering.clean_text(job.reason),
        "timeout": job.timeout,
        "lost": job.lost,
        "dedup_key": job.dedup_key,
        "canceled_by": job.canceled_by,
        "cancel_requested_at": answering.iso(job.cancel_requested_at),
        "worker": job.lease_owner,
        "lease_expires_at": answering.iso(job.lease_expires_at),
        "params": answering.clean_json(job.params_json),
        "result": result,
        "checkpoint": answering.clean_json(job.checkpoint_json),
        "output_reference": answering.output_reference(result),
        "traceback": answering.clean_text(job.traceback) if manager else None,
        "parents": _relatives(parents),
        "dependents": _relatives(engine().store.dependents_of(job.name)),
        "permitted": {
            "cancel": manager and job.status in CANCELABLE,
            "retry": manager and job.status in RETRYABLE,
            "retry_with_params": manager and job.status in RETRYABLE and job.handler is None,
        },
    }


@method()
def get_job_history(name: str) -> answers.JobHistory:
    """Every change of a job's state, the oldest first: when, by whom, in which attempt, and how an attempt ended.

    name: The job.
    """
    job = visible(name)
    return {"name": job.name, "history": [answering.entry_of(t) for t in engine().store.history(job)]}


@method()
def explain_job(name: str) -> answers.Explanation:
    """One sentence: why the job is where it is, and what happens next.

    name: The job.
    """
    job = visible(name)
    return {"name": job.name, "status": str(job.status), "explanation": _explanation(job)}


def _explanation(job: Job) -> str:
    return answering.clean_text(engine().explain(job.name)) or ""


def _relatives(names: Sequence[str]) -> list[answers.Relative]:
    """Always of the same organization. Of a type that the caller may not see, they do not learn either."""
    not_shown = hidden()
    return [
        {"name": job.name, "job_type": job.job_type, "status": str(job.status)}
        for job in listing.rows(engine(), names[:MOST_RELATIVES])
        if job.job_type not in not_shown
    ]
