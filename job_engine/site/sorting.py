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
from functools import partial
from itertools import chain
from typing import Any

from job_engine.site.orders import ORDERS
from job_engine.site.walking import (
    COLUMNS_OF,
    MOST_WALKS,
    ORGANIZATIONS,
    Question,
    Run,
    TookTooLong,
    Walk,
    Which,
    Within,
    are_at_most,
    first_column,
    for_a_moment,
    one_of,
    sorted_by,
)

LITTLE = 1_000  # so many matches are read and sorted at once
SCATTERED = 20_000  # above that, a look at every row is quicker than a look from an index at each that matches
TOGETHER = 100_000  # so many are read at once where they lie together, or an index has all that is asked of them
_ALL = 2**62  # rows


def names(run: Run, can_walk: bool, asked: Question) -> list[str]:
    """The names of a page. `can_walk`: the database's indexes hold all jobs."""
    wanted = asked.wanted
    if not can_walk:
        return first_column(run(*(_read_apart if are_at_most(run, wanted, LITTLE) else _read)(asked)))
    if wanted.within.is_small if wanted.within else _are_few(run, wanted):
        return first_column(run(*(_read if wanted.within and wanted.within.covers else _read_apart)(asked)))
    read = {*(wanted.columns or ()), *ORDERS[asked.sort].columns}
    if read <= COLUMNS_OF[ORGANIZATIONS] and (narrowed := _in_organizations(run, wanted)):
        return first_column(run(*_read(replace(asked, wanted=narrowed))))
    try:
        return _walk(run, asked)
    except TookTooLong:
        return first_column(run(*_read_after_all(run, asked)))


def _are_few(run: Run, wanted: Which) -> bool:
    try:
        return are_at_most(partial(for_a_moment, run), wanted, TOGETHER if wanted.is_of_a_time else LITTLE)
    except TookTooLong:
        return False


def _read_after_all(run: Run, asked: Question) -> tuple[str, list[Any]]:
    wanted = asked.wanted
    if wanted.within is not None and wanted.within.covers:
        return _read(asked)
    if wanted.columns is not None and wanted.columns | ORDERS[asked.sort].columns <= COLUMNS_OF[ORGANIZATIONS]:
        everywhere = Within(ORGANIZATIONS, Which("organization >= ''"))
        return _read(replace(asked, wanted=replace(wanted, within=everywhere)))
    if wanted.is_of_a_time or are_at_most(run, wanted.within.everything if wanted.within else wanted, SCATTERED):
        return _read_apart(asked)
    return _scan(asked)


def _in_organizations(run: Run, wanted: Which) -> Which | None:
    """The same jobs by organization and state, where the organizations' index has few of them; otherwise None."""
    organizations, states = wanted.given.get("organization", ()), wanted.given.get("status", ())
    if organizations and are_at_most(run, one_of("organization", organizations), TOGETHER):
        return replace(wanted, within=Within(ORGANIZATIONS, one_of("organization", organizations)))
    if organizations or not states or not are_at_most(run, one_of("status", states), SCATTERED):
        return None
    every = first_column(
        run(f"SELECT organization FROM {{job}} FORCE INDEX ({ORGANIZATIONS}) GROUP BY organization", ())
    )
    return (
        replace(wanted, within=Within(ORGANIZATIONS, one_of("organization", every)))
        if len(every) <= MOST_WALKS
        else None
    )


def _walk(run: Run, asked: Question) -> list[str]:
    walks = list(ORDERS[asked.sort].walks(run, asked))
    if len(walks) > MOST_WALKS:
        raise TookTooLong
    return first_column(for_a_moment(run, *_walked(asked, walks)))


# Statements ----------------------------------------------------------------------------------------------------------------


def _read(asked: Question) -> tuple[str, list[Any]]:
    """All that matches, sorted."""
    return _sorted_from(asked, asked.wanted.source, asked.wanted.source_parameters)


def _scan(asked: Question) -> tuple[str, list[Any]]:
    """The same, by a look at every job."""
    return _sorted_from(asked, f"{{job}} USE INDEX () WHERE {asked.wanted.condition}", asked.wanted.parameters)


def _sorted_from(asked: Question, source: str, parameters: Sequence[Any]) -> tuple[str, list[Any]]:
    order = ORDERS[asked.sort]
    by = sorted_by(order.keys, order.can_be_empty, asked.way)
    return f"SELECT name FROM {source} ORDER BY {by} LIMIT %s OFFSET %s", [*parameters, asked.length, asked.start]


def _read_apart(asked: Question) -> tuple[str, list[Any]]:
    """The same, first read and then sorted: else a database may choose to walk in order, past a million that do not match."""
    wanted, order = asked.wanted, ORDERS[asked.sort]
    sql = (
        f"SELECT job FROM (SELECT {order.selected} FROM {wanted.source} LIMIT %s) matching"
        f" ORDER BY {order.sorted(asked.way)} LIMIT %s OFFSET %s"
    )
    return sql, [*wanted.source_parameters, _ALL, asked.length, asked.start]


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
