"""The numbers behind the metrics. Every query reads live jobs through their own index, or counters; never the history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from job_engine.core.priority import Lane
from job_engine.store.session import Session


def waiting_lanes(session: Session) -> list[tuple[Lane, int]]:
    """Queued jobs by lane."""
    rows = session.rows("SELECT lane, COUNT(*) FROM {job} WHERE status = 'Queued' GROUP BY lane")
    return [(Lane.parse(lane), n) for lane, n in rows]


def oldest_queued(session: Session, lanes: list[Lane]) -> tuple[str, datetime] | None:
    """The queued job that has been due the longest: the head of each lane, by the claim's own index."""
    oldest: tuple[Any, str] | None = None
    for lane in lanes:
        row = session.row(
            "SELECT run_after, name FROM {job} WHERE status = 'Queued' AND lane = %s ORDER BY run_after, name LIMIT 1",
            (str(lane),),
        )
        if row is not None and (oldest is None or row < oldest):
            oldest = (row[0], row[1])
    if oldest is None:
        return None
    at = session.dialect.from_db(oldest[0])
    assert at is not None
    return oldest[1], at


def count_live(session: Session, organization: str | None) -> dict[str, int]:
    """Running and waiting jobs by status."""
    where, parameters = ("", []) if organization is None else (" AND organization = %s", [organization])
    running = session.value(f"SELECT COUNT(*) FROM {{job}} WHERE status = 'Running'{where}", parameters)
    rows = session.rows(
        "SELECT status, COUNT(*) FROM {job} WHERE status IN ('Pending', 'Failed', 'Timed Out')"
        f"{where} GROUP BY status",
        parameters,
    )
    return {"Running": running, **dict(rows)}


def sums_by_event(session: Session, organization: str | None, events: Sequence[str]) -> dict[str, int]:
    """How often each of these was counted since ever."""
    those, parameters = session.dialect.among("event", events)
    if organization is not None:
        those, parameters = f"{those} AND organization = %s", [*parameters, organization]
    rows = session.rows(f"SELECT event, SUM(n) FROM {{stat}} WHERE {those} GROUP BY event", parameters)
    return {event: int(n) for event, n in rows}


def totals(
    session: Session, organization: str | None, since: datetime | None
) -> list[tuple[str, str, int, int, float]]:
    """(job_type, event, bucket, count, seconds), since a moment or since ever."""
    conditions, parameters = ["1 = 1"], []
    if organization is not None:
        conditions.append("organization = %s")
        parameters.append(organization)
    if since is not None:
        conditions.append("at >= %s")
        parameters.append(session.dialect.to_db(since))
    rows = session.rows(
        "SELECT job_type, event, bucket, SUM(n), SUM(seconds) FROM {stat}"
        f" WHERE {' AND '.join(conditions)} GROUP BY job_type, event, bucket ORDER BY job_type, event, bucket",
        parameters,
    )
    return [(job_type, event, bucket, int(n), float(seconds)) for job_type, event, bucket, n, seconds in rows]
