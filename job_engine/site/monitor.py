"""Everything that the Job Monitor shows, in one answer: what happened, what waits and runs, what needs a person."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from job_engine.core.redact import redact_text
from job_engine.core.states import Status
from job_engine.site import causes, listing, monitor_counters, monitor_live, serving, tenancy
from job_engine.site.ledger import Account
from job_engine.site.monitor_counters import Counted, Sums
from job_engine.site.monitor_live import Live
from job_engine.site.monitor_scope import Scope

if TYPE_CHECKING:
    from job_engine.site.engines import SiteEngine
    from job_engine.store.controls import Pause
    from job_engine.store.workers import Worker

SHOWN_CAUSES = 50
SHOWN_ORGANIZATIONS = 200


def read(engine: SiteEngine, user: str, span: str, organization: str | None = None) -> dict[str, Any]:
    """As the user may see it. Times are in UTC."""
    scope = Scope.of(user, organization)
    now = engine.store.now()
    with engine.store.session() as session:
        counted = monitor_counters.count(engine, session, monitor_counters.SPANS[span], scope, now)
        live = monitor_live.look(engine, session, scope)
        running = monitor_live.running(engine, session, scope)
        oldest = _oldest(live, now, monitor_live.oldest_queued(session, live.oldest[1]) if live.oldest else None)
    return {
        "now": _iso(now),
        "span": span,
        "organization": organization,
        "is_operator": scope.is_operator,
        "tenant_doctype": tenancy.tenant_doctype(),
        "rooms": rooms(scope),
        "summary": _summary(counted, live, oldest, monitor_counters.SPANS[span].minutes),
        "bars": [_bar(start, sums) for start, sums in zip(counted.starts, counted.bars, strict=True)],
        "queued_by_priority": live.queued_by_priority,
        "types": [_type(name, sums) for name, sums in monitor_counters.worst_first(counted.by_type)],
        "dead_letters": _dead_letters(engine, user, organization),
        "workers": _workers(engine, running, scope),
        "listening": serving.listening_workers() if scope.is_operator else None,
        "organizations": _ledger(counted, live),
        "pauses": _pauses(engine, scope),
    }


def rooms(scope: Scope) -> list[list[str]]:
    """The documents whose rooms tell when this picture is out of date."""
    if scope.is_operator:
        return [["Job Engine Settings", "Job Engine Settings"]]
    return [[tenancy.tenant_doctype(), name] for name in sorted(scope.organizations or ())]


def _summary(counted: Counted, live: Live, oldest: dict[str, Any] | None, minutes: float) -> dict[str, Any]:
    total = counted.total
    waiting = {str(s): live.by_status.get(str(s), 0) for s in (Status.QUEUED, Status.PENDING, Status.FAILED)}
    waiting[str(Status.FAILED)] += live.by_status.get(str(Status.TIMED_OUT), 0)
    return {
        "completed": total.completed,
        "per_minute": total.completed / minutes,
        "failed_attempts": total.retried + total.dead,
        "failure_rate": total.failure_rate,
        "running": live.by_status.get(str(Status.RUNNING), 0),
        "queued": waiting[str(Status.QUEUED)],
        "scheduled": waiting[str(Status.PENDING)],
        "to_be_retried": waiting[str(Status.FAILED)],
        "wait_p50": total.wait(0.5),
        "wait_p95": total.wait(0.95),
        "duration_p50": total.duration(0.5),
        "duration_p95": total.duration(0.95),
        "oldest": oldest,
    }


def _oldest(live: Live, now: datetime, name: str | None) -> dict[str, Any] | None:
    if live.oldest is None or name is None:
        return None
    since, lane = live.oldest
    seconds = max(0.0, (now - since).total_seconds())
    return {"name": name, "job_type": lane.job_type, "organization": lane.organization, "seconds": seconds}


def _bar(start: datetime, sums: Sums) -> dict[str, Any]:
    return {
        "at": _iso(start),
        "completed": sums.completed,
        "retried": sums.retried,
        "dead": sums.dead,
        "wait_p95": sums.wait(0.95),
        "duration_p95": sums.duration(0.95),
    }


def _type(name: str, sums: Sums) -> dict[str, Any]:
    return {
        "job_type": name,
        "attempts": sums.ended,
        "failed": sums.retried + sums.dead,
        "failure_rate": sums.failure_rate,
        "wait_p95": sums.wait(0.95),
        "duration_p50": sums.duration(0.5),
        "duration_p95": sums.duration(0.95),
    }


def _dead_letters(engine: SiteEngine, user: str, organization: str | None) -> dict[str, Any]:
    found, is_all = causes.causes(engine, listing.which(engine, user, {"organization": organization}))
    return {
        "total": sum(len(cause.names) for cause in found),
        "total_is_exact": is_all,
        "causes": [
            {
                "cause": cause.id,
                "job_type": cause.job_type,
                "error": redact_text(cause.error),
                "error_type": cause.error_type,
                "count": len(cause.names),
                "organizations": sorted(cause.organizations),
                "last_at": _iso(cause.last_at),
                "example": cause.names[0],
                "is_idempotent": _is_idempotent(engine, cause.job_type),
            }
            for cause in found[:SHOWN_CAUSES]
        ],
        "more_causes": max(0, len(found) - SHOWN_CAUSES),
    }


def _is_idempotent(engine: SiteEngine, job_type: str) -> bool:
    found = engine.registry.get(job_type)
    return found is None or found.idempotent


def _workers(engine: SiteEngine, running: list[dict[str, Any]], scope: Scope) -> list[dict[str, Any]]:
    """Of those that are alive, and what each runs. A manager of an organization sees those that run its jobs, unnamed."""
    theirs: dict[str, list[dict[str, Any]]] = {}
    for job in running:
        owner = job.pop("lease_owner") or ""
        job["started_at"] = _iso(engine.store.dialect.from_db(job["started_at"]))
        job["progress"] = float(job["progress"] or 0)
        job["progress_message"] = job["progress_message"] and redact_text(job["progress_message"])
        theirs.setdefault(owner, []).append(job)
    alive = engine.store.workers()
    lost = sorted(set(theirs) - {worker.name for worker in alive}) if scope.is_operator else []
    shown = [worker for worker in alive if scope.is_operator or worker.name in theirs]
    return [_worker(i, worker, theirs.get(worker.name, []), scope) for i, worker in enumerate(shown, 1)] + [
        {"name": name, "is_silent": True, "running": theirs[name]} for name in lost
    ]


def _worker(i: int, worker: Worker, running: list[dict[str, Any]], scope: Scope) -> dict[str, Any]:
    known = {"is_silent": False, "seen_at": _iso(worker.seen_at), "started_at": _iso(worker.started_at)}
    if not scope.is_operator:
        return {"name": str(i), **known, "running": running}
    return {
        "name": worker.name,
        "host": worker.host,
        "pid": worker.pid,
        "queues": None if worker.queues is None else list(worker.queues),
        **known,
        "running": running,
    }


def _ledger(counted: Counted, live: Live) -> list[dict[str, Any]]:
    accounts = counted.accounts
    for name in {*live.waiting_by_organization, *live.running_by_organization} - set(accounts) - {""}:
        accounts[name] = Account(name)
    ordered = sorted(accounts.values(), key=lambda a: (-a.worker_seconds, a.organization))
    return [
        {
            "organization": account.organization,
            "completed": account.counts.get(str(Status.COMPLETED), 0),
            "failed_attempts": account.failed_attempts,
            "dead_letters": account.counts.get(str(Status.DEAD_LETTER), 0),
            "worker_seconds": round(account.worker_seconds, 3),
            "wait_p95": account.wait_p95,
            "waiting": live.waiting_by_organization.get(account.organization, 0),
            "running": live.running_by_organization.get(account.organization, 0),
        }
        for account in ordered[:SHOWN_ORGANIZATIONS]
    ]


def _pauses(engine: SiteEngine, scope: Scope) -> list[dict[str, Any]]:
    """What is paused and concerns the user: of other organizations nothing."""
    return [
        {
            "scope": pause.scope,
            "target": pause.target,
            "at": _iso(pause.at),
            "by": pause.by,
            "reason": pause.reason and redact_text(pause.reason),
            "may_resume": _may_resume(pause, scope),
        }
        for pause in sorted(engine.store.controls().pauses.values(), key=lambda p: (p.scope, p.target))
        if _concerns(pause, scope)
    ]


def _concerns(pause: Pause, scope: Scope) -> bool:
    if pause.scope == "organization":
        return scope.organizations is None or pause.target in scope.organizations
    return pause.scope != "type" or pause.target not in scope.hidden


def _may_resume(pause: Pause, scope: Scope) -> bool:
    """What nobody has paused by hand is undone where it was set: in the organization, the type or the settings."""
    if pause.at is None:
        return False
    return scope.is_operator or (pause.scope == "organization" and not (pause.by and tenancy.sees_everything(pause.by)))


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
