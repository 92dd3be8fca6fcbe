"""Look at jobs. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from job_engine.core.errors import JobEngineError
from job_engine.core.job import Job
from job_engine.core.language import _
from job_engine.core.states import Status
from job_engine.store.rows import JOB_COLUMNS, job_from_row
from job_engine.store.session import Session


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs are meant. What is None does not matter."""

    status: Status | Sequence[Status] | None = None
    job_type: str | None = None
    organization: str | None = None
    queue: str | None = None
    priority: str | None = None
    user: str | None = None
    error_type: str | None = None
    error_contains: str | None = None
    created_before: datetime | None = None
    created_after: datetime | None = None

    @classmethod
    def of(cls, **criteria: Any) -> Filter:
        known = [f.name for f in fields(cls)]
        for word in criteria:
            if word not in known:
                raise JobEngineError(
                    _("Jobs cannot be filtered by {0!r}. Choose from: {1}.").format(word, ", ".join(known))
                )
        return cls(**criteria)


def get(session: Session, name: str) -> Job | None:
    row = session.row(f"SELECT {JOB_COLUMNS} FROM {{job}} WHERE name = %s", (name,))
    return None if row is None else job_from_row(session.dialect, row)


def find(session: Session, which: Filter, limit: int, after: str | None = None) -> list[Job]:
    """The newest first: names are in order of time. `after` continues below a name, however deep."""
    condition, parameters = _condition(session, which)
    if after is not None:
        condition, parameters = f"{condition} AND name < %s", [*parameters, after]
    rows = session.rows(
        f"SELECT {JOB_COLUMNS} FROM {{job}} WHERE {condition} ORDER BY name DESC LIMIT %s", [*parameters, limit]
    )
    return [job_from_row(session.dialect, row) for row in rows]


def count(session: Session, which: Filter) -> int:
    condition, parameters = _condition(session, which)
    return int(session.value(f"SELECT COUNT(*) FROM {{job}} WHERE {condition}", parameters))


def count_by(session: Session, which: Filter, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """(values of the columns..., count), the most frequent first."""
    condition, parameters = _condition(session, which)
    listed = ", ".join(columns)
    return session.rows(
        f"SELECT {listed}, COUNT(*) FROM {{job}} WHERE {condition} GROUP BY {listed} ORDER BY COUNT(*) DESC, {listed}",
        parameters,
    )


def _condition(session: Session, which: Filter) -> tuple[str, list[Any]]:
    conditions: list[str] = ["1 = 1"]
    parameters: list[Any] = []
    if which.status is not None:
        statuses = [which.status] if isinstance(which.status, str) else which.status
        those, values = session.dialect.among("status", [_status(s) for s in statuses])
        conditions.append(those)
        parameters += values
    for column in ("job_type", "organization", "queue", "priority", "user", "error_type"):
        value = getattr(which, column)
        if value is not None:
            conditions.append(f"{'{user}' if column == 'user' else column} = %s")
            parameters.append(value)
    if which.error_contains is not None:
        conditions.append("last_error LIKE %s ESCAPE '!'")
        escaped = which.error_contains.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        parameters.append(f"%{escaped}%")
    for word, sign in (("created_before", "<"), ("created_after", ">=")):
        moment = getattr(which, word)
        if moment is not None:
            conditions.append(f"creation {sign} %s")
            parameters.append(session.dialect.to_db(moment))
    return " AND ".join(conditions), parameters


def _status(word: str) -> str:
    try:
        return Status(word).value
    except ValueError:
        raise JobEngineError(
            _("There is no state {0!r}. There are: {1}.").format(word, ", ".join(s.value for s in Status))
        ) from None
