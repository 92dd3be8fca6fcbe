"""Submit jobs. Registered types only, for an organization that the caller may act for."""

from __future__ import annotations

import hashlib
from typing import Any

import frappe
from frappe import _

from job_engine.api import answering, answers
from job_engine.api.arguments import idempotency_key, json_object, json_value, moment
from job_engine.api.errors import InvalidArgument, KeyReused
from job_engine.api.method import method
from job_engine.api.permission import may_see, organization_to_act_for, submittable_type
from job_engine.calling import check_params
from job_engine.core import canonical
from job_engine.core.errors import JobEngineError
from job_engine.core.fingerprint import job_hash
from job_engine.core.job import Job
from job_engine.site import engine

MOST_JOBS = 1000
FIELDS = (
    "job_type", "params", "organization", "run_after", "priority", "queue", "timeout", "max_attempts", "dedup_key",
    "depends_on",
)  # fmt: skip


@method(changes=True, managers=True, status=202, takes_key=True)
def submit_job(
    job_type: str,
    params: dict[str, Any] | str | None = None,
    organization: str | None = None,
    run_after: str | None = None,
    priority: str | None = None,
    queue: str | None = None,
    timeout: int | None = None,
    max_attempts: int | None = None,
    dedup_key: str | None = None,
    depends_on: str | list[str] | None = None,
) -> answers.Submitted:
    """Submit one job.

    Answers 202 with the new job, or 200 with `created: false` and the job that stands for it already: because its
    dedup_key or Idempotency-Key was used before, or because an active job has the same type, organization and parameters.

    job_type: A registered, enabled type.
    params: The handler's keyword arguments, at most 64 KiB of JSON.
    organization: Whose job it is. May be left out by a user who has one, or a default one.
    run_after: Not before this time (ISO 8601; without a zone it is UTC).
    priority: Critical, High, Normal or Low, instead of the type's.
    queue: A queue of the bench, instead of the type's.
    timeout: Seconds, instead of the type's. 0: no limit.
    max_attempts: How often it may be tried, instead of the type's.
    dedup_key: Unique within the organization for as long as the job exists.
    depends_on: The name of a job that must complete first, or several, of the same organization.
    """
    wanted = {
        "job_type": job_type,
        "params": params,
        "organization": organization,
        "run_after": run_after,
        "priority": priority,
        "queue": queue,
        "timeout": timeout,
        "max_attempts": max_attempts,
        "dedup_key": dedup_key,
        "depends_on": depends_on,
    }
    job = _submit(wanted, idempotency_key(), 0)
    _answer_status([job])
    return answering.submitted(job)


@method(changes=True, managers=True, status=202, takes_key=True)
def schedule(
    jobs: list[dict[str, Any]] | str,
    organization: str | None = None,
    run_after: str | None = None,
) -> answers.SubmittedJobs:
    """Submit several jobs, all or none.

    Each is an object with the arguments of submit_job. Answers 202, or 200 where every one of them was there already. One
    Idempotency-Key stands for the whole list.

    jobs: At most 1,000 objects; each has a job_type.
    organization: For those that name none themselves.
    run_after: For those that name none themselves (ISO 8601).
    """
    listed = json_value(jobs, "jobs")
    if not isinstance(listed, list) or not all(isinstance(job, dict) for job in listed):
        raise InvalidArgument(_("jobs is a list of objects, each with a job_type."))
    if not 1 <= len(listed) <= MOST_JOBS:
        raise InvalidArgument(
            _("jobs has {0} entries; one call takes 1 to {1}. Send more in further calls.").format(
                len(listed), MOST_JOBS
            )
        )
    defaults = {"organization": organization, "run_after": run_after}
    key = idempotency_key()
    made = []
    for i, wanted in enumerate(listed):
        try:
            made.append(_submit({**defaults, **wanted}, key, i))
        except JobEngineError as error:  # say which one it is
            error.args = (f"jobs[{i}]: {error}",)
            raise
    _answer_status(made)
    return {"jobs": [answering.submitted(job) for job in made], "created": sum(bool(job.created) for job in made)}


def _submit(wanted: dict[str, Any], key: str | None, position: int) -> Job:
    for word in wanted:
        if word not in FIELDS:
            raise InvalidArgument(_("A job has no {0!r}. It has: {1}.").format(word, ", ".join(FIELDS)))
    name = wanted.get("job_type")
    if not isinstance(name, str):
        raise InvalidArgument(_("A job needs a job_type, the name of a registered type."))
    job_type = submittable_type(name)
    params = json_object(wanted.get("params"), "params")
    check_params(job_type, params)
    organization = organization_to_act_for(_text(wanted, "organization"))
    options = {
        word: wanted[word] for word in ("priority", "queue", "timeout", "max_attempts") if wanted.get(word) is not None
    }
    job = engine().enqueue(
        job_type.name,
        params,
        organization=organization,
        user=frappe.session.user,
        run_after=moment(_text(wanted, "run_after")),
        dedup_key=_dedup_key(_text(wanted, "dedup_key"), key, position),
        depends_on=_names(wanted.get("depends_on")),
        **options,
    )
    if not job.created:
        _check_same(job, job_hash(job_type.name, organization, canonical.encode(params)), key is not None)
    return job


def _dedup_key(given: str | None, key: str | None, position: int) -> str | None:
    """A client's Idempotency-Key as a dedup_key: of its user alone, so that nobody can hit upon another's.

    The engine keeps dedup keys apart by organization.
    """
    if key is None:
        return given
    if given is not None:
        raise InvalidArgument(_("Pass either a dedup_key or the header Idempotency-Key, not both."))
    told = "\0".join((frappe.session.user, key, str(position)))
    return f"idempotency:{hashlib.sha256(told.encode()).hexdigest()}"


def _check_same(twin: Job, wanted_hash: str, by_idempotency_key: bool) -> None:
    """A key stands for one request: an answer with another job would look like a success that never was."""
    if not may_see(twin):
        raise KeyReused(_("This dedup_key is taken by a job that you may not see."))
    if by_idempotency_key and twin.job_hash != wanted_hash:
        raise KeyReused(
            _(
                "This Idempotency-Key was used for another request: for job {0}. Use a new key for each new request."
            ).format(twin.name)
        )


def _answer_status(made: list[Job]) -> None:
    """202: something will happen. 200: all of it was there already."""
    if not any(job.created for job in made):
        frappe.local.response["http_status_code"] = 200


def _text(wanted: dict[str, Any], word: str) -> str | None:
    value = wanted.get(word)
    if value is not None and not isinstance(value, str):
        raise InvalidArgument(_("{0} is {1!r}; it is a text.").format(word, value))
    return value or None


def _names(depends_on: Any) -> list[str] | None:
    """One name, a list of names, or that list as the JSON that a form sends."""
    if isinstance(depends_on, str) and depends_on.lstrip().startswith("["):
        depends_on = json_value(depends_on, "depends_on")
    if not depends_on:
        return None
    names = [depends_on] if isinstance(depends_on, str) else depends_on
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(_("depends_on is a job's name or a list of names."))
    return names
