"""A page of jobs in the order of any column: exactly, and without sorting the others.

A database that sorts a million rows for a page of twenty takes seconds, and an index for every column would be paid by every
job, at each change of its state. So a page is put together from walks along the indexes that are there anyway. In those, the
columns before the wanted one have few values: a state, the number of attempts. Each combination is a walk of its own, in
order, which ends after as many rows as the page can need; their union is sorted, and its beginning is the page.

Where filters leave too little of what a walk meets, it would go on for long. It is given a moment, and then all that matches
is read and sorted. So is what matches when it is little, and everything on PostgreSQL, which sorts with several processes and
whose indexes hold only the rows that hot queries read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from job_engine.site.orders import (
    ORDERS,
    Question,
    Run,
    TookTooLong,
    Walk,
    Which,
    first_column,
    for_a_moment,
    places,
    sorted_by,
)

LITTLE = 1_000  # so many matches are read and sorted at once
SCATTERED = 20_000  # above that, a look at every row is quicker than a look from an index at each that matches
TOGETHER = 100_000  # so many are read at once where they lie together, or an index has all that is asked of them
MOST_WALKS = 500
_ALL = 2**62  # rows
# Columns of `je_job_list_status`, which begins with the organization: they are read from there and sorted.
_IN_ORGANIZATION = (
    "organization", "job_type", "user", "attempts", "max_attempts", "progress", "error_type", "status", "run_after",
    "started_at", "ended_at",
)  # fmt: skip
_FROM_ORGANIZATION = " FORCE INDEX (je_job_list_status)"


def names(run: Run, can_walk: bool, asked: Question) -> list[str]:
    """The names of a page. `can_walk`: the database's indexes hold all jobs."""
    wanted = asked.wanted
    if _are_at_most(run, wanted, TOGETHER if wanted.is_of_a_time else LITTLE):
        return first_column(run(*_read_apart(asked)))
    if not can_walk:
        return first_column(run(*_read(asked)))
    if asked.sort in _IN_ORGANIZATION and (narrowed := _in_organizations(run, wanted)):
        return first_column(run(*_read(replace(asked, wanted=narrowed), _FROM_ORGANIZATION)))
    try:
        return _walk(run, asked)
    except TookTooLong:
        return first_column(run(*_read_after_all(run, asked)))


def _read_after_all(run: Run, asked: Question) -> tuple[str, list[Any]]:
    if asked.wanted.is_of_a_time or _are_at_most(run, asked.wanted, SCATTERED):
        return _read_apart(asked)
    return _read(asked, " USE INDEX ()")


def _in_organizations(run: Run, wanted: Which) -> Which | None:
    """The same jobs by organization and state, where the organizations' index has few of them; otherwise None."""
    organizations, states = wanted.given.get("organization", ()), wanted.given.get("status", ())
    if organizations and _are_at_most(run, _one_of("organization", organizations), TOGETHER):
        return wanted
    if organizations or not states or not _are_at_most(run, _one_of("status", states), SCATTERED):
        return None
    every = first_column(run(f"SELECT organization FROM {{job}}{_FROM_ORGANIZATION} GROUP BY organization", ()))
    those = _one_of("organization", every)
    return wanted.and_(those.condition, *those.parameters) if len(every) <= MOST_WALKS else None


def _one_of(column: str, values: Sequence[str]) -> Which:
    return Which(f"{column} IN ({places(values)})", tuple(values))


def _are_at_most(run: Run, wanted: Which, most: int) -> bool:
    sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM {{job}} WHERE {wanted.condition} LIMIT %s) counted"
    return int(run(sql, [*wanted.parameters, most + 1])[0][0]) <= most


def _walk(run: Run, asked: Question) -> list[str]:
    walks = list(ORDERS[asked.sort].walks(run, asked))
    if len(walks) > MOST_WALKS:
        raise TookTooLong
    return first_column(for_a_moment(run, *_walked(asked, walks)))


# Statements ----------------------------------------------------------------------------------------------------------------


def _read(asked: Question, hint: str = "") -> tuple[str, list[Any]]:
    """All that matches, sorted."""
    wanted, order = asked.wanted, ORDERS[asked.sort]
    by = sorted_by(order.keys, order.can_be_empty, asked.way)
    sql = f"SELECT name FROM {{job}}{hint} WHERE {wanted.condition} ORDER BY {by} LIMIT %s OFFSET %s"
    return sql, [*wanted.parameters, asked.length, asked.start]


def _read_apart(asked: Question) -> tuple[str, list[Any]]:
    """The same, first read and then sorted: else a database may choose to walk in order, past a million that do not match."""
    wanted, order = asked.wanted, ORDERS[asked.sort]
    sql = (
        f"SELECT job FROM (SELECT {order.selected} FROM {{job}} WHERE {wanted.condition} LIMIT %s) matching"
        f" ORDER BY {order.sorted(asked.way)} LIMIT %s OFFSET %s"
    )
    return sql, [*wanted.parameters, _ALL, asked.length, asked.start]


def _walked(asked: Question, walks: Sequence[Walk]) -> tuple[str, list[Any]]:
    """The beginnings of all walks, sorted."""
    wanted, order, most = asked.wanted, ORDERS[asked.sort], asked.start + asked.length
    union = " UNION ALL ".join(
        f"(SELECT {order.selected} FROM {{job}} FORCE INDEX ({walk.index})"
        f" WHERE {walk.where.condition} AND {wanted.condition} ORDER BY {sorted_by(walk.keys, False, asked.way)} LIMIT %s)"
        for walk in walks
    )
    sql = f"SELECT job FROM ({union}) walks ORDER BY {order.sorted(asked.way)} LIMIT %s OFFSET %s"
    parameters = chain.from_iterable((*walk.where.parameters, *wanted.parameters, most) for walk in walks)
    return sql, [*parameters, asked.length, asked.start]
