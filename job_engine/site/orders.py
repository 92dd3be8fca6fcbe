"""The orders in which jobs can be listed, and along which indexes each one is walked (see sorting.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from job_engine.core.priority import Lane
from job_engine.core.states import ENDED, Status
from job_engine.site.walking import (
    Question,
    Run,
    TookTooLong,
    Walk,
    Which,
    first_column,
    for_a_moment,
    groups,
    lane_places,
    lanes_of,
    places,
    sorted_by,
)

_A_FEW = 20  # jobs that are looked at beside those that are needed


@dataclass(frozen=True, slots=True)
class Order:
    """Jobs in the order of one column. The last key is the name or leads to it: there is one order only."""

    keys: tuple[str, ...]
    walks: Callable[[Run, Question], Iterator[Walk]]
    can_be_empty: bool = False

    @property
    def columns(self) -> set[str]:
        return {key.strip("{}") for key in self.keys}

    @property
    def selected(self) -> str:
        return ", ".join(["name AS job", *(f"{key} AS key_{i}" for i, key in enumerate(self.keys))])

    def sorted(self, way: str) -> str:
        """By what `selected` has selected."""
        return sorted_by([f"key_{i}" for i in range(len(self.keys))], self.can_be_empty, way)


def _along(index: str, *keys: str, after: Sequence[str] = (), can_be_empty: bool = False) -> Order:
    """By columns of an index; `after` others, each of whose combinations makes a walk."""

    def walks(run: Run, asked: Question) -> Iterator[Walk]:
        values = () if after else asked.wanted.given.get(keys[0].strip("{}"), ())
        for value in values:
            yield Walk(index, Which(f"{keys[0]} = %s", (value,)), keys[1:])
        for where in () if values else groups(run, index, after):
            if can_be_empty:
                yield Walk(index, where.and_(f"{keys[0]} IS NOT NULL"), keys)
                yield Walk(index, where.and_(f"{keys[0]} IS NULL"), keys[1:])
            else:
                yield Walk(index, where, keys)
        if "lease_expires_at" in after:  # the few that run: each with a lease, so not in order
            yield Walk(index, Which(f"status IN ({_ANY_STATUS}) AND lease_expires_at IS NOT NULL"), keys)

    return Order(keys, walks, can_be_empty)


def _by_age(run: Run, asked: Question) -> Iterator[Walk]:
    """Names are in the order of time, and so is every index that ends with them."""
    within = asked.wanted.within
    walks = within and (within.by_age or (asked.descending and within.newest_first))
    yield from walks or [Walk("PRIMARY", Which("1 = 1"), ("name",))]


def _by_change(run: Run, asked: Question) -> Iterator[Walk]:
    """The last change of a job that has ended was its end. Of those that have not, there are few."""
    for status in Status:
        where = Which("status = %s", (status.value,))
        change = "ended_at" if status in ENDED else "modified"
        yield Walk("je_job_ended", where, (change, "started_at", "name"))


def _by_status(run: Run, asked: Question) -> Iterator[Walk]:
    for where in groups(run, "je_job_ended", ["status"]):
        yield Walk("je_job_ended", where, ("ended_at", "started_at", "name"))


def _by_start(run: Run, asked: Question) -> Iterator[Walk]:
    """A job is made, then starts, then ends. Whoever starts among the first was made before the last of these has started;
    whoever starts among the last ended after the first of these has started."""
    if not asked.descending:
        yield from _started_among(run, asked, [Walk("creation", Which("1 = 1"), ("creation",))])
        return
    ended = sorted(ENDED, key=lambda status: status is not Status.COMPLETED)  # nearly all are
    yield from _started_among(
        run, asked, [Walk("je_job_ended", Which("status = %s", (status.value,)), ("ended_at",)) for status in ended]
    )
    for status in (each for each in Status if each not in ENDED):
        where = Which("status = %s AND started_at IS NOT NULL", (status.value,))
        yield Walk("je_job_ended", where, ("started_at", "name"))


def _started_among(run: Run, asked: Question, parts: Sequence[Walk]) -> Iterator[Walk]:
    """The page's jobs among others. A look along the other time at as many as the page needs says how far it can reach;
    with a few more, that look has mostly seen them all."""
    needed = asked.start + asked.length
    seen: list[list[Sequence[Any]]] = []
    for part in parts:
        if sum(map(len, seen)) < needed:
            seen.append(_first_along(run, asked, part, needed + _A_FEW))
    starts = sorted((started for rows in seen for _, started, _ in rows), reverse=asked.descending)
    if len(starts) < needed:
        raise TookTooLong  # fewer have started than the page needs
    bound = starts[needed - 1]
    for i, part in enumerate(parts):
        if i < len(seen) and _are_all(seen[i], needed + _A_FEW, bound, asked):
            those = [name for name, _, _ in seen[i]]
            if those:
                yield Walk("PRIMARY", Which(f"name IN ({places(those)})", tuple(those)), ("started_at", "name"))
        else:
            reached = f"{part.keys[0]} {'>=' if asked.descending else '<='} %s AND started_at IS NOT NULL"
            yield Walk(part.index, part.where.and_(reached, bound), ("started_at", "name"))


def _first_along(run: Run, asked: Question, part: Walk, most: int) -> list[Sequence[Any]]:
    """Name, start and the other time."""
    (column,) = part.keys
    sql = (
        f"SELECT name, started_at, {column} FROM {{job}} FORCE INDEX ({part.index}) WHERE {part.where.condition}"
        f" AND {asked.wanted.condition} AND started_at IS NOT NULL ORDER BY {column} {asked.way} LIMIT %s"
    )
    return list(for_a_moment(run, sql, [*part.where.parameters, *asked.wanted.parameters, most]))


def _are_all(seen: Sequence[Sequence[Any]], most: int, bound: Any, asked: Question) -> bool:
    """Whether no other job of the part can start on this side of the bound."""
    if len(seen) < most:
        return True
    last = seen[-1][2]
    return bool(last < bound if asked.descending else last > bound)


def _by_lane(run: Run, asked: Question) -> Iterator[Walk]:
    """The lanes of each state, priority and queue. A lane begins with the latter two and goes on with organization and type:
    what is known of these is said of the lanes too, for there is no end to those of others."""
    given = asked.wanted.given
    organizations = as_written(run, "organization", "je_job_list_organization", given.get("organization", ()))
    types = as_written(run, "job_type", "je_job_list_type", given.get("job_type", ()))
    if types:
        yield from _lanes_of(run, types, organizations)
        return
    for status, place in lane_places(run):
        for lanes in [f"{place}|{organization}" for organization in organizations] or [place]:
            yield Walk("je_job_claim", lanes_of(status, lanes), ("lane", "run_after", "name"))


def _lanes_of(run: Run, types: Sequence[str], organizations: Sequence[str]) -> Iterator[Walk]:
    """The same, of all lanes that there are those of these types. Each walk goes through several, one after the other."""
    lanes: dict[tuple[str, str, str], list[str]] = {}
    every = "SELECT status, lane FROM {job} FORCE INDEX (je_job_claim) GROUP BY status, lane"
    for status, text in for_a_moment(run, every, ()):
        lane = Lane.parse(text)
        if lane.job_type in types and (not organizations or lane.organization in organizations):
            lanes.setdefault((status, lane.rank, lane.queue), []).append(text)
    for (status, _, _), those in lanes.items():
        where = Which(f"status = %s AND lane IN ({places(those)})", (status, *those))
        # MariaDB sorts by itself where a key has one value only, instead of leaving it out.
        yield Walk("je_job_claim", where, ("lane", "run_after", "name")[len(those) == 1 :])


def as_written(run: Run, column: str, index: str, values: Sequence[str]) -> list[str]:
    """A filter does not tell capitals from small letters, a lane does."""
    if not values:
        return []
    where = f"FORCE INDEX ({index}) WHERE {column} IN ({places(values)})"
    return first_column(run(f"SELECT {column} FROM {{job}} {where} GROUP BY {column}", values))


_ANY_STATUS = ", ".join(f"'{status.value}'" for status in Status)
FREE = ("status", "lease_expires_at")  # with the latter empty: those that nobody runs
AGE = ("creation", "name")

ORDERS = {
    **dict.fromkeys(AGE, Order(("name",), _by_age)),
    "status": Order(("status", "ended_at", "started_at", "name"), _by_status),
    "ended_at": _along("je_job_ended", "ended_at", "started_at", "name", after=["status"], can_be_empty=True),
    "started_at": Order(("started_at", "name"), _by_start, can_be_empty=True),
    "modified": Order(("modified", "started_at", "name"), _by_change),
    "run_after": _along("je_job_promote", "run_after", "name", after=["status", "blockers"]),
    "job_type": _along("je_job_list_type", "job_type", "creation", "name"),
    "organization": _along("je_job_list_organization", "organization", "creation", "name"),
    "user": _along("je_job_list_user", "{user}", "creation", "name", can_be_empty=True),
    "priority": Order(("LEFT(lane, 1)", "lane", "run_after", "name"), _by_lane),
    "queue": Order(("queue", "lane", "run_after", "name"), _by_lane),
    "error_type": _along(
        "je_job_lease", "error_type", "max_attempts", "attempts", "progress", "name", after=FREE, can_be_empty=True
    ),
    "max_attempts": _along("je_job_lease", "max_attempts", "attempts", "progress", "name", after=[*FREE, "error_type"]),
    "attempts": _along("je_job_lease", "attempts", "progress", "name", after=[*FREE, "error_type", "max_attempts"]),
    "progress": _along("je_job_lease", "progress", "name", after=[*FREE, "error_type", "max_attempts", "attempts"]),
}
