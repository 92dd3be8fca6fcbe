"""Retry jobs that are in Dead Letter or were canceled: one, one with other parameters, or all that match."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import frappe
from frappe import _

from job_engine.api import answering, answers
from job_engine.api.arguments import json_object, moment
from job_engine.api.errors import InvalidArgument
from job_engine.api.listing import filters_of
from job_engine.api.method import method
from job_engine.api.permission import submittable_type, visible
from job_engine.calling import check_params
from job_engine.core.errors import IllegalTransition, JobNotFound
from job_engine.core.redact import MASK
from job_engine.core.states import RETRYABLE, listed
from job_engine.site import by_hand, causes, engine, listing

MOST_JOBS = 2000
COMMIT_AFTER = 100  # jobs: no worker has to wait long for a counter that this transaction has changed
LONGEST_SPREAD = 7 * 86_400
SHOWN_CAUSES = 20


@method(changes=True, managers=True)
def retry_job(name: str, params: dict[str, Any] | str | None = None, run_after: str | None = None) -> answers.Changed:
    """Run a job again that is in Dead Letter or was canceled, with all its attempts.

    With other parameters, the caller must be permitted to submit its type, and the job runs for the caller from then on. Its
    history tells what was changed.

    name: The job.
    params: All of its parameters as they should be, instead of those it has.
    run_after: Not before this time (ISO 8601).
    """
    job = visible(name)
    at = moment(run_after)
    if params is None or params == "":
        return answering.changed(by_hand.retry(engine(), job.name, frappe.session.user, at))
    wanted = json_object(params, "params")
    _check_no_mask(wanted)
    if job.handler is None:
        check_params(submittable_type(job.job_type), wanted)
    return answering.changed(by_hand.retry_changed(engine(), job, wanted, frappe.session.user, at))


@method(changes=True, managers=True)
def retry_jobs(
    filters: dict[str, Any] | str | None = None, preview: bool = False, spread_seconds: float = 0
) -> answers.RetriedJobs:
    """Retry all that match: by default what is in Dead Letter; what was canceled only where filters.status names it.

    One call retries at most 2,000 jobs and tells how many are left: call it again until that is 0.

    filters: What to look for, see JobFilters; `cause` is one of dead_letter_causes.
    preview: Only tell what would be retried, by type, organization and cause.
    spread_seconds: Let them become due evenly over so many seconds instead of all at once.
    """
    if not (math.isfinite(spread_seconds) and 0 <= spread_seconds <= LONGEST_SPREAD):
        raise InvalidArgument(
            _("spread_seconds is {0}; it lies between 0 and {1}.").format(spread_seconds, LONGEST_SPREAD)
        )
    chosen = filters_of(filters)
    cause = chosen.pop("cause", None)
    chosen["status"] = _retryable(chosen.get("status"))
    wanted = listing.which(engine(), frappe.session.user, chosen)
    if cause:
        wanted = _of_cause(wanted, cause)
    if preview:
        return {"preview": _preview(wanted), "retried": 0, "remaining": 0}
    names = listing.names(engine(), wanted, MOST_JOBS)
    retried = retry_all(names, spread_seconds)
    return {
        "preview": None,
        "retried": retried,
        "remaining": listing.count(engine(), wanted) if len(names) == MOST_JOBS else 0,
    }


def retry_all(names: list[str], spread_seconds: float) -> int:
    """Committed in small portions: an interruption leaves nothing half done, and the next call goes on."""
    start, step = engine().store.now(), spread_seconds / max(1, len(names) - 1)
    done = 0
    for i, name in enumerate(names):
        due = start + timedelta(seconds=step * i) if spread_seconds else None
        try:
            by_hand.retry(engine(), name, frappe.session.user, due)
            done += 1
        except (IllegalTransition, JobNotFound):  # somebody else has retried or pruned it meanwhile
            pass
        if done and done % COMMIT_AFTER == 0:
            frappe.db.commit()
    return done


def _preview(wanted: listing.Which) -> answers.RetryPreview:
    total = listing.count(engine(), wanted)
    found, _ = causes.causes(engine(), wanted)
    return {
        "total": min(total, listing.COUNTED),
        "total_is_exact": total <= listing.COUNTED,
        "by_type": listing.count_by(engine(), wanted, "job_type"),
        "by_organization": listing.count_by(engine(), wanted, "organization"),
        "by_cause": {f"{c.job_type}: {c.error}": len(c.names) for c in found[:SHOWN_CAUSES]},
    }


def _of_cause(wanted: listing.Which, cause: Any) -> listing.Which:
    names = causes.names_of(engine(), wanted, str(cause))
    if not names:
        return wanted.and_("1 = 0")
    those, parameters = engine().store.dialect.among("name", names)
    return wanted.and_(those, *parameters)


def _retryable(status: Any) -> list[str]:
    statuses = status if isinstance(status, list) else [status or "Dead Letter"]
    for one in statuses:
        if one not in [str(s) for s in RETRYABLE]:
            raise InvalidArgument(
                _("Jobs that are {0} cannot be retried; those in one of these states can: {1}.").format(
                    _(str(one)), listed(RETRYABLE)
                )
            )
    return statuses


def _check_no_mask(params: Any) -> None:
    """Parameters are shown with their secrets masked. The mask must not become the secret."""
    if isinstance(params, str):
        if MASK in params:
            raise InvalidArgument(
                _("params has {0} where a secret was masked. Put the real value in its place.").format(MASK)
            )
    elif isinstance(params, dict | list):
        for value in params.values() if isinstance(params, dict) else params:
            _check_no_mask(value)
