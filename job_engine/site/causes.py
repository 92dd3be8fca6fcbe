"""Dead letters by cause: the same error of many jobs is one row, which can be retried as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from job_engine.core.cause import cause_id, cause_of
from job_engine.site.listing import Which

if TYPE_CHECKING:
    from job_engine.site.engines import SiteEngine

LOOKED_AT = 10_000  # the newest dead letters, through the index over status and ended_at


@dataclass(slots=True)
class Cause:
    id: str
    job_type: str
    error: str
    error_type: str | None
    names: list[str] = field(default_factory=list)  # the newest first
    organizations: set[str] = field(default_factory=set)
    first_at: datetime | None = None
    last_at: datetime | None = None


def causes(engine: SiteEngine, wanted: Which) -> tuple[list[Cause], bool]:
    """Those with the most jobs first, and whether every dead letter was looked at."""
    with engine.store.session() as session:
        rows = session.rows(
            "SELECT name, job_type, organization, LEFT(COALESCE(last_error, reason), 500), error_type, ended_at"
            f" FROM {{job}} WHERE status = 'Dead Letter' AND {wanted.condition} ORDER BY ended_at DESC LIMIT %s",
            [*wanted.parameters, LOOKED_AT + 1],
        )
    found: dict[str, Cause] = {}
    for name, job_type, organization, error, error_type, ended_at in rows[:LOOKED_AT]:
        text = cause_of(error)
        key = cause_id(job_type, text)
        at = engine.store.dialect.from_db(ended_at)
        cause = found.setdefault(key, Cause(key, job_type, text, error_type, last_at=at))
        cause.names.append(name)
        cause.organizations.add(organization)
        cause.first_at = at
    return sorted(found.values(), key=lambda c: -len(c.names)), len(rows) <= LOOKED_AT


def names_of(engine: SiteEngine, wanted: Which, cause: str) -> list[str]:
    """The dead letters of one cause, the oldest first."""
    for found in causes(engine, wanted)[0]:
        if found.id == cause:
            return found.names[::-1]
    return []
