"""Numbers: for programs that watch, and for the pages that show them."""

from __future__ import annotations

import frappe
from frappe import _
from werkzeug.wrappers import Response

from job_engine.api import answering, answers
from job_engine.api.arguments import json_object
from job_engine.api.errors import InvalidArgument
from job_engine.api.listing import filters_of
from job_engine.api.method import method
from job_engine.api.permission import hidden, organization_to_look_at, sees_everything
from job_engine.prometheus import CONTENT_TYPE
from job_engine.prometheus import prometheus as prometheus_text
from job_engine.site import causes, engine, ledger, listing, tenancy

LONGEST_HOURS = 7 * 24
SHOWN_CAUSES = 200


@method()
def get_job_metrics(organization: str | None = None) -> answers.JobMetrics:
    """Counts by state, what waits by priority, throughput, durations and failure rates of the last hour.

    organization: One of the caller's. Left out: all, for System Managers; for others their own.
    """
    metrics = engine().metrics(organization_to_look_at(organization)).to_dict()
    not_shown = hidden()
    if not_shown:
        rates = metrics["failure_rate_by_type"]
        metrics["failure_rate_by_type"] = {t: rate for t, rate in rates.items() if t not in not_shown}
        oldest = metrics["oldest_waiting_job"] and engine().store.get(metrics["oldest_waiting_job"])
        if oldest and oldest.job_type in not_shown:
            metrics["oldest_waiting_job"] = None
    return metrics


@method(content_type="text/plain")
def prometheus(organization: str | None = None) -> str:
    """The numbers in Prometheus' text format. Job types are labels: only for those who may see all of them.

    organization: One of the caller's. Left out: all, for System Managers; for others their own.
    """
    chosen = organization_to_look_at(organization)
    text = prometheus_text(engine(), chosen)
    if hidden():
        labels = [f'job_type="{job_type}"' for job_type in hidden()]
        text = "".join(line for line in text.splitlines(keepends=True) if not any(label in line for label in labels))
    return Response(text, content_type=CONTENT_TYPE)


@method(managers=True)
def workers() -> answers.WorkerList:
    """The workers that were seen lately, and what each runs: for managers of an organization, of its jobs alone."""
    operator = sees_everything()
    wanted = listing.which(engine(), frappe.session.user, {"status": "Running"})
    running: dict[str, list[answers.RunningJob]] = {}
    for job in listing.rows(engine(), listing.names(engine(), wanted, listing.FEW)):
        running.setdefault(job.lease_owner or "", []).append(
            {
                "name": job.name,
                "job_type": job.job_type,
                "organization": job.organization,
                "started_at": answering.iso(job.started_at),
                "progress": float(job.progress),
            }
        )
    return {
        "workers": [
            {
                "name": worker.name if operator else f"worker {i}",
                "host": worker.host if operator else None,
                "pid": worker.pid if operator else None,
                "queues": list(worker.queues) if worker.queues is not None else None,
                "started_at": answering.iso(worker.started_at) or "",
                "seen_at": answering.iso(worker.seen_at) or "",
                "running": running.get(worker.name, []),
            }
            for i, worker in enumerate(engine().store.workers(), 1)
        ]
    }


@method()
def dead_letter_causes(filters: dict[str, object] | str | None = None) -> answers.CauseList:
    """Dead letters grouped by cause: the same error of many jobs is one row. Pass its `cause` to retry_jobs.

    The newest 10,000 dead letters are looked at.

    filters: What to look for, see JobFilters.
    """
    chosen = filters_of(json_object(filters, "filters"))
    chosen.pop("cause", None)
    chosen.pop("status", None)
    found, is_all = causes.causes(engine(), listing.which(engine(), frappe.session.user, chosen))
    return {
        "causes": [
            {
                "cause": cause.id,
                "job_type": cause.job_type,
                "error": answering.clean_text(cause.error) or "",
                "error_type": cause.error_type,
                "count": len(cause.names),
                "organizations": sorted(cause.organizations),
                "first_at": answering.iso(cause.first_at),
                "last_at": answering.iso(cause.last_at),
                "example": cause.names[0],
            }
            for cause in found[:SHOWN_CAUSES]
        ],
        "total": sum(len(cause.names) for cause in found),
        "total_is_exact": is_all,
    }


@method(managers=True)
def organization_ledger(hours: int = 24) -> answers.Ledger:
    """What each organization has used: jobs, worker-seconds, waits and failures. Managers see their own.

    hours: 1 to 168, back from now. More than 3 hours ago, hours are counted as a whole.
    """
    if not 1 <= hours <= LONGEST_HOURS:
        raise InvalidArgument(_("hours is {0}; it lies between 1 and {1}.").format(hours, LONGEST_HOURS))
    accounts = ledger.ledger(engine(), hours, tenancy.permitted_organizations())
    return {
        "hours": hours,
        "organizations": [
            {
                "organization": account.organization,
                "completed": account.counts.get("Completed", 0),
                "failed_attempts": account.failed_attempts,
                "dead_letters": account.counts.get("Dead Letter", 0),
                "canceled": account.counts.get("Canceled", 0),
                "worker_seconds": round(account.worker_seconds, 3),
                "wait_p95": account.wait_p95,
                "duration_p95": account.duration_p95,
                "waiting": account.waiting,
                "running": account.running,
            }
            for account in accounts
        ],
    }
