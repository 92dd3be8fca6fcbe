"""What waits and what runs at this moment: small ranges of the indexes, whatever the table's size."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from job_engine.core.priority import PRIORITIES, Lane
from job_engine.core.states import Status
from job_engine.site.monitor_scope import Scope
from job_engine.store.session import Session

if TYPE_CHECKING:
    from job_engine.site.engines import SiteEngine

SHOWN_RUNNING = 500
_LIVE = "'Pending', 'Queued', 'Running', 'Failed', 'Timed Out'"


@dataclass(slots=True)
class Live:
    by_status: dict[str, int] = field(default_factory=dict)
    queued_by_priority: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PRIORITIES, 0))
    waiting_by_organization: dict[str, int] = field(default_factory=dict)
    running_by_organization: dict[str, int] = field(default_factory=dict)
    oldest: tuple[datetime, Lane] | None = None  # due since, in which lane


def look(engine: SiteEngine, session: Session, scope: Scope) -> Live:
    """By lane, which the claim's index has in it: no row is read."""
    live = Live()
    from_db = engine.store.dialect.from_db
    for status, text, n, due in session.rows(
        f"SELECT status, lane, COUNT(*), MIN(run_after) FROM {{job}} WHERE status IN ({_LIVE}) GROUP BY status, lane"
    ):
        lane = Lane.parse(text)
        if not scope.has_lane(lane):
            continue
        live.by_status[status] = live.by_status.get(status, 0) + n
        is_running = status == Status.RUNNING
        counts = live.running_by_organization if is_running else live.waiting_by_organization
        counts[lane.organization] = counts.get(lane.organization, 0) + n
        if status == Status.QUEUED:
            live.queued_by_priority[PRIORITIES[int(lane.rank)]] += n
            since = from_db(due)
            if since is not None and (live.oldest is None or since < live.oldest[0]):
                live.oldest = since, lane
    return live


def oldest_queued(session: Session, lane: Lane) -> str | None:
    """The job at the head of its lane."""
    return session.value(
        "SELECT name FROM {job} WHERE status = 'Queued' AND lane = %s ORDER BY run_after, name LIMIT 1", (str(lane),)
    )


def running(engine: SiteEngine, session: Session, scope: Scope) -> list[dict[str, Any]]:
    """The jobs that run, the longest first. A runner claims several at once: those that it has not begun are among them."""
    conditions, parameters = scope.conditions(engine.store.dialect)
    rows = session.rows(
        "SELECT name, job_type, organization, lease_owner, started_at, progress, progress_message FROM {job}"
        f" WHERE status = 'Running'{conditions} ORDER BY started_at, name LIMIT %s",
        [*parameters, SHOWN_RUNNING],
    )
    words = ("name", "job_type", "organization", "lease_owner", "started_at", "progress", "progress_message")
    return [dict(zip(words, row, strict=True)) for row in rows]
