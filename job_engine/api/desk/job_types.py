"""What the form of a job type shows: its last 24 hours, and its policy with who set what."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import frappe
from typing_extensions import TypedDict

from job_engine.api import answering
from job_engine.api.method import method
from job_engine.api.permission import hidden, known_type, unknown_type
from job_engine.core.job_type import JobType
from job_engine.site import engine, job_types, tenancy

HOURS = 24


class Hour(TypedDict):
    at: str
    completed: int
    failed: int  # attempts that are tried again
    dead_letters: int


class PolicyRow(TypedDict):
    word: str
    code: Any
    override: Any  # None: the code's value is in force
    effective: Any


class TypeOverview(TypedDict):
    name: str
    is_registered: bool  # False: no app has it any more
    hours: list[Hour]
    policy: list[PolicyRow]


@method(documented=False)
def overview(name: str) -> TypeOverview:
    """The last 24 hours of a job type, and its policy: what the code says, what is overridden, what counts.

    name: The job type.
    """
    if name in hidden():
        raise unknown_type(name)
    code = engine().registry.in_code(name)
    return {
        "name": name,
        "is_registered": code is not None,
        "hours": _hours(name),
        "policy": _policy(code, known_type(name)) if code is not None else [],
    }


def _policy(code: JobType, effective: JobType) -> list[PolicyRow]:
    said, counts = job_types.described(code), job_types.described(effective)
    return [
        {
            "word": word,
            "code": said[word],
            "override": counts[word] if counts[word] != said[word] else None,
            "effective": counts[word],
        }
        for word in said
    ]


def _hours(name: str) -> list[Hour]:
    """From the counters, of the organizations that the caller may see."""
    store = engine().store
    first = store.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    hours: dict[datetime, Hour] = {}
    for i in range(HOURS):
        at = first + timedelta(hours=i)
        hours[at] = {"at": answering.iso(at) or "", "completed": 0, "failed": 0, "dead_letters": 0}
    permitted = tenancy.permitted_organizations(frappe.session.user)
    those, values = ("1 = 1", []) if permitted is None else ("1 = 0", [])
    if permitted:
        those, values = store.dialect.among("organization", sorted(permitted))
    with store.session() as session:
        rows = session.rows(
            "SELECT at, event, SUM(n) FROM {stat} WHERE at >= %s AND job_type = %s AND event IN"
            f" ('Completed', 'Failed', 'Timed Out', 'Dead Letter') AND {those} GROUP BY at, event",
            [store.dialect.to_db(first), name, *values],
        )
    for at, event, n in rows:
        hour = hours.get(store.dialect.from_db(at).replace(minute=0, second=0, microsecond=0))
        if hour is not None:
            word = {"Completed": "completed", "Dead Letter": "dead_letters"}.get(event, "failed")
            hour[word] += int(n)  # type: ignore[literal-required]
    return list(hours.values())
