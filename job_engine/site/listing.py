"""Jobs that somebody may see, by what they ask for: filtered, sorted, in pages, and counted.

Fast with a million jobs, and so not everything is exact: matches are counted up to a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from job_engine.core.errors import JobEngineError
from job_engine.core.job import COLUMNS, Job
from job_engine.core.language import _
from job_engine.core.priority import PRIORITIES, lane_ranges
from job_engine.core.states import Status
from job_engine.site import orders, sorting, tenancy
from job_engine.site.permissions import hidden_types
from job_engine.site.walking import Question, Which
from job_engine.store.rows import job_from_row

if TYPE_CHECKING:
    from job_engine.site.engines import SiteEngine

COUNTED = 100_000  # matches are counted up to so many
FEW = 20_000  # so many matches are all read and then sorted

WORDS = ("name", "status", "job_type", "organization", "queue", "priority", "user", "error_type", "depends_on")
TIMES = {
    "created_after": "creation >=",
    "created_before": "creation <",
    "ended_after": "ended_at >=",
    "ended_before": "ended_at <",
}
TEXTS = ("error_contains",)
_GIVEN = ("status", "job_type", "organization", "user")  # what helps to sort
# Found through an index that starts with the status.
_NEEDS_STATUS = ("queue", "priority", "error_type", "error_contains", "ended_after", "ended_before")

SORTABLE = tuple(orders.ORDERS)

_HEAVY = {"params": "'{{}}'", "result": "NULL", "checkpoint": "NULL", "traceback": "NULL"}  # no list shows these
_LIST_COLUMNS = ", ".join(_HEAVY.get(c, "{user}" if c == "user" else c) for c in COLUMNS)


@dataclass(frozen=True, slots=True)
class Page:
    jobs: list[Job]
    total: int
    total_is_exact: bool


def which(engine: SiteEngine, user: str, filters: Mapping[str, Any]) -> Which:
    """The jobs that match, of those that the user may see. Times are aware datetimes.

    Errors are looked for among what has not completed, unless `status` says otherwise: nothing else keeps that quick.
    """
    given = {word: value for word, value in filters.items() if value is not None and value != ""}
    chosen = _permitted(engine, user)
    among = engine.store.dialect.among
    for word, value in given.items():
        if word == "depends_on":
            those, values = among("parent", _values(word, value))
            chosen = chosen.and_(f"name IN (SELECT job FROM {{dependency}} WHERE {those})", *values)
        elif word in WORDS:
            values = _values(word, value)
            those, parameters = among(_column(word), values)
            chosen = chosen.and_(those, *parameters)
            if word in ("queue", "priority"):
                chosen = _in_lanes(chosen, word, values)
            elif word in _GIVEN:
                chosen = chosen.with_given(word, values)
        elif word in TIMES:
            if not isinstance(value, datetime):
                raise JobEngineError(_("{0} is a time.").format(word))
            chosen = chosen.and_(f"{TIMES[word]} %s", engine.store.dialect.to_db(value))
            chosen = replace(chosen, is_of_a_time=True)
        elif word in TEXTS:
            escaped = str(value).replace("!", "!!").replace("%", "!%").replace("_", "!_")
            chosen = chosen.and_("last_error LIKE %s ESCAPE '!'", f"%{escaped}%")
        else:
            known = ", ".join((*WORDS, *TIMES, *TEXTS))
            raise JobEngineError(_("Jobs cannot be filtered by {0!r}. Choose from: {1}.").format(word, known))
    if "status" not in given and not given.keys().isdisjoint(_NEEDS_STATUS):
        without_errors = given.keys().isdisjoint(("error_type", "error_contains"))
        statuses = [s.value for s in Status if without_errors or s is not Status.COMPLETED]
        those, parameters = among("status", statuses)
        chosen = chosen.and_(those, *parameters)
    return chosen


def _in_lanes(chosen: Which, word: str, values: Sequence[str]) -> Which:
    """The same said of the lane, which with the status leads an index that queue and priority do not have."""
    if word == "queue":
        ranges = lane_ranges(tuple(values))
    else:
        ranges = [(f"{PRIORITIES.index(v)}|", f"{PRIORITIES.index(v)}}}") for v in values if v in PRIORITIES]
    if not ranges:
        return chosen
    conditions = " OR ".join("(lane > %s AND lane < %s)" for _ in ranges)
    return chosen.and_(f"({conditions})", *(edge for pair in ranges for edge in pair))


def page(engine: SiteEngine, wanted: Which, sort: str, descending: bool, start: int, length: int) -> Page:
    total = count(engine, wanted)
    names = _names_of_page(engine, wanted, total, check_sort(sort), descending, start, length)
    return Page(rows(engine, names), min(total, COUNTED), total <= COUNTED)


def count(engine: SiteEngine, wanted: Which, most: int = COUNTED) -> int:
    """How many match; one more than `most` stands for all that are more."""
    with engine.store.session() as session:
        return int(
            session.value(
                f"SELECT COUNT(*) FROM (SELECT 1 FROM {{job}} WHERE {wanted.condition} LIMIT %s) matching",
                [*wanted.parameters, most + 1],
            )
        )


def count_by(engine: SiteEngine, wanted: Which, column: str, most: int = COUNTED) -> dict[str, int]:
    """How many of each value, the most frequent first, among the first that match."""
    with engine.store.session() as session:
        found = session.rows(
            f"SELECT {column}, COUNT(*) FROM (SELECT {column} FROM {{job}} WHERE {wanted.condition} LIMIT %s) matching"
            f" GROUP BY {column} ORDER BY COUNT(*) DESC, {column}",
            [*wanted.parameters, most],
        )
    return {value or "": int(n) for value, n in found}


def names(engine: SiteEngine, wanted: Which, most: int) -> list[str]:
    """The oldest first, so that parents come before their dependents."""
    with engine.store.session() as session:
        return session.column(
            f"SELECT name FROM {{job}} WHERE {wanted.condition} ORDER BY name LIMIT %s", [*wanted.parameters, most]
        )


def rows(engine: SiteEngine, names: Sequence[str]) -> list[Job]:
    """These jobs in this order, without what is large."""
    if not names:
        return []
    those, parameters = engine.store.dialect.among("name", names)
    with engine.store.session() as session:
        found = session.rows(f"SELECT {_LIST_COLUMNS} FROM {{job}} WHERE {those}", parameters)
    by_name = {row[0]: job_from_row(engine.store.dialect, row) for row in found}
    return [by_name[name] for name in names if name in by_name]


def check_sort(sort: str) -> str:
    if sort not in SORTABLE:
        raise JobEngineError(_("Jobs cannot be sorted by {0!r}. Choose from: {1}.").format(sort, ", ".join(SORTABLE)))
    return sort


def _names_of_page(
    engine: SiteEngine, wanted: Which, total: int, sort: str, descending: bool, start: int, length: int
) -> list[str]:
    with engine.store.session() as session:
        if sort not in orders.AGE:
            asked = Question(wanted, sort, descending, start, length)
            return sorting.names(session.rows, not session.dialect.partial_indexes, asked)
        # With a limit alone, the database would often walk in the order of time past a million jobs that do not match.
        few = f"SELECT name, creation FROM {{job}} WHERE {wanted.condition} LIMIT {FEW}"
        source = f"({few}) matching" if total <= FEW else f"{{job}} WHERE {wanted.condition}"
        way = "DESC" if descending else "ASC"
        return session.column(
            f"SELECT name FROM {source} ORDER BY {sort} {way}, name {way} LIMIT %s OFFSET %s",
            [*wanted.parameters, length, start],
        )


def _permitted(engine: SiteEngine, user: str) -> Which:
    permitted = tenancy.permitted_organizations(user)
    if permitted is None:
        return Which("1 = 1", ())
    if not permitted:
        return Which("1 = 0", ())
    those, values = engine.store.dialect.among("organization", sorted(permitted))
    chosen = Which(those, tuple(values)).with_given("organization", sorted(permitted))
    hidden = sorted(hidden_types(user))
    if hidden:
        those, values = engine.store.dialect.among("job_type", hidden)
        chosen = chosen.and_(f"NOT ({those})", *values)
    return chosen


def _values(word: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    if not values or len(values) > 100 or not all(isinstance(v, str) for v in values):
        raise JobEngineError(_("{0} is a text or a list of 1 to 100 texts.").format(word))
    if word == "status":
        for status in values:
            if status not in [s.value for s in Status]:
                known = ", ".join(s.value for s in Status)
                raise JobEngineError(_("There is no state {0!r}. There are: {1}.").format(status, known))
    return values


def _column(word: str) -> str:
    return "{user}" if word == "user" else word
