"""Where the jobs that a filter wants are found: the filter said once more, in the columns of an index.

Desk filters by any column, and most have no index: one for each would be written at every change of a job's state. But what is
known of a job's life says much about them in the columns that have one. Only a job that has not completed has an error; the
attempts follow the state in the index of leases; whoever ended before noon was made before noon. So the database looks at those
that can match, and asks the filter itself of these only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial

from job_engine.core.priority import PRIORITIES
from job_engine.core.states import ENDED, Status
from job_engine.site.orders import AGE, FREE, ORDERS, as_written
from job_engine.site.walking import (
    COLUMNS_OF,
    MOST_WALKS,
    ORGANIZATIONS,
    Run,
    TookTooLong,
    Walk,
    Which,
    Within,
    any_of,
    are_at_most,
    for_a_moment,
    groups,
    lane_places,
    lanes_of,
    one_of,
)

LITTLE = 1_000  # so many jobs are read at once
SCATTERED = 5_000  # so many, where nothing is quicker
COVERED = 150_000  # so many, where an index has all that is asked of them
OF_ORGANIZATIONS = 100_000  # so many, where that is the organizations' index: others lead to other people's

_EVERY = frozenset(Status)
_WAITING = _EVERY - ENDED
_NOT_COMPLETED = _EVERY - {Status.COMPLETED}
#: What only jobs in these states have.
_ONLY_IN: Mapping[str, frozenset[Status]] = {
    **dict.fromkeys(("lease_owner", "lease_expires_at"), frozenset({Status.RUNNING})),
    **dict.fromkeys(("error_type", "last_error", "traceback", "reason"), _NOT_COMPLETED),
}
_OF_LEASES = ("error_type", "max_attempts", "attempts", "progress")  # in the order of the index
_BY_VALUE = {
    "job_type": "je_job_list_type",
    "organization": "je_job_list_organization",
    "user": "je_job_list_user",
    "status": "je_job_ended",
}
_TIMES = ("started_at", "ended_at", "modified")
#: Columns that one may filter by with a million jobs, and soon get every match.
KNOWN = (*_ONLY_IN, *_OF_LEASES, *_BY_VALUE, *_TIMES, "run_after", "blockers", "queue", "priority", "depends_on")

_BETWEEN = ("between", "timespan", "previous", "next")
_OF_SOMETHING = ("=", "like", "in", ">", ">=", "is set", *_BETWEEN)


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of the list: its column, its operator in small letters, and what it says in SQL, as a template."""

    column: str
    operator: str
    condition: str

    @property
    def is_of_something(self) -> bool:
        """Whether it never holds for a column that is empty."""
        return self.operator in _OF_SOMETHING and "ifnull(" not in self.condition

    @property
    def span(self) -> tuple[str | None, str | None]:
        """The times between which it holds, as SQL writes them."""
        times = re.findall(r"'[^']*'", _bare(self.condition))
        if self.operator in _BETWEEN and len(times) == 2:
            return times[0], times[1]
        if len(times) == 1 and self.operator in ("=", ">", ">=", "<", "<="):
            return (None if self.operator[0] == "<" else times[0]), (None if self.operator[0] == ">" else times[0])
        return None, None


def narrowed(
    run: Run, wanted: Which, filters: Sequence[Filter], sort: str | None = None, descending: bool = True
) -> Which:
    """The same jobs, and where they are found. `sort`: the order they are read in; without it, they are counted only."""
    places = list(_places(run, wanted, filters))
    states = frozenset.intersection(_EVERY, *(place.states for place in places))
    if states != _EVERY:
        wanted = wanted.and_(_in(states).condition, *_in(states).parameters)
    read = {*(wanted.columns or {"*"}), *(ORDERS[sort].columns if sort else ())}
    places = [replace(place, covers=read <= COLUMNS_OF.get(place.index, set())) for place in places]
    in_order = [p for p in places if sort in AGE and (p.by_age or (p.newest_first and descending))]
    return replace(wanted, within=_best(run, places, in_order))


def _best(run: Run, places: Sequence[Within], in_order: Sequence[Within]) -> Within | None:
    covering = [place for place in places if place.covers]
    return (
        _small(run, places, LITTLE)
        or _small(run, [place for place in covering if place.index == ORGANIZATIONS], OF_ORGANIZATIONS)
        or next(iter(in_order), None)
        or _small(run, covering, COVERED)
        or _small(run, places, SCATTERED)
        or next(iter(covering or places), None)
    )


def _small(run: Run, places: Sequence[Within], most: int) -> Within | None:
    found = (replace(place, is_small=True) for place in places if are_at_most(run, place.everything, most))
    return next(found, None)


# Places ----------------------------------------------------------------------------------------------------------------------

#: Finds places for those filters that it knows.
Way = Callable[[Run, Which, Sequence[Filter]], Iterator[Within]]


def _places(run: Run, wanted: Which, filters: Sequence[Filter]) -> Iterator[Within]:
    organizations = wanted.given.get("organization")
    if organizations:
        yield Within(ORGANIZATIONS, one_of("organization", organizations))
    for way in _WAYS:
        try:
            yield from way(partial(for_a_moment, run), wanted, filters)
        except TookTooLong:
            continue  # too many values for a look at each


def _by_parent(run: Run, wanted: Which, filters: Sequence[Filter]) -> Iterator[Within]:
    for each in filters:
        if each.column == "depends_on" and each.is_of_something:
            parent = each.condition.replace("{job}.`depends_on`", "parent")
            yield Within("PRIMARY", Which(f"name IN (SELECT job FROM {{dependency}} WHERE {parent})"))


def _by_state(run: Run, wanted: Which, filters: Sequence[Filter]) -> Iterator[Within]:
    for each in filters:
        states = _ONLY_IN.get(each.column, _EVERY) if each.is_of_something else _EVERY
        if (each.column, each.operator) == ("started_at", "is not set"):
            states = _NOT_COMPLETED
        if states != _EVERY:
            yield Within("je_job_ended", _in(states), states)


def _by_leases(run: Run, wanted: Which, filters: Sequence[Filter]) -> Iterator[Within]:
    """The combinations of values that match; down to the last column, each has its jobs in the order of age."""
    those = [each for each in filters if each.column in _OF_LEASES]
    if not those:
        return
    having = " AND ".join(each.condition for each in those)
    depth = 1 + max(_OF_LEASES.index(each.column) for each in those)
    running = _in({Status.RUNNING}).and_("lease_expires_at IS NOT NULL")
    matching = [*_values(run, "je_job_lease", [*FREE, *_OF_LEASES[:depth]], having), running]
    states = frozenset(Status(where.parameters[0]) for where in matching)
    try:
        finest = [*_values(run, "je_job_lease", [*FREE, *_OF_LEASES], having), running]
    except TookTooLong:
        finest = []
    by_age = [Walk("je_job_lease", where, ("name",)) for where in finest]
    yield Within("je_job_lease", any_of(matching), states, by_age)


def _by_value(run: Run, wanted: Which, filters: Sequence[Filter]) -> Iterator[Within]:
    for each in filters:
        if each.column in _BY_VALUE:
            index = _BY_VALUE[each.column]
            found = _values(run, index, ["{user}" if each.column == "user" else each.column], each.condition)
            is_status = each.column == "status"
            states = frozenset(Status(where.parameters[0]) for where in found) if is_status else _EVERY
            by_age = [] if is_status else [Walk(index, where, ("creation", "name")) for where in found]
            yield Within(index, any_of(found), states, by_age)


def _by_time(run: Run, wanted: Which, filters: Sequence[Filter]) -> Iterator[Within]:
    """A job is made, starts, and ends, which is its last change: each of these times says something about the others."""
    for each in filters:
        since, until = each.span
        if (each.column, each.operator) == ("ended_at", "is not set"):
            yield Within("je_job_ended", _in(_EVERY).and_("ended_at IS NULL"), _WAITING)
        if each.column not in _TIMES or (since is None and until is None):
            continue
        ended = [f"ended_at >= {since}"] * bool(since)
        ended += [f"ended_at <= {until}"] * bool(until and each.column != "started_at")
        those = _in(ENDED).and_(" AND ".join(ended or ["1 = 1"]))
        made = Walk("creation", Which(f"creation <= {until}"), ("creation", "name"))
        if each.is_of_something and each.column == "ended_at":
            yield Within("je_job_ended", those, ENDED, newest_first=[made] * bool(until))
        elif each.column == "started_at":
            of_something = bool(until) and each.is_of_something
            yield Within("je_job_ended", any_of([those, _in(_WAITING)]), newest_first=[made] * of_something)
        else:
            made_and_ended = replace(made, where=made.where.and_(_in(ENDED).condition, *_in(ENDED).parameters))
            waiting = Walk("je_job_ended", _in(_WAITING), ("name",))
            newest_first = [made_and_ended, waiting] if until else []
            yield Within("je_job_ended", any_of([those, waiting.where]), newest_first=newest_first)


def _by_next_try(run: Run, wanted: Which, filters: Sequence[Filter]) -> Iterator[Within]:
    those = [each for each in filters if each.column in ("run_after", "blockers")]
    if those:
        matching = " AND ".join(_bare(each.condition) for each in those)
        found = any_of([w.and_(matching) for w in _values(run, "je_job_promote", ["status", "blockers"])])
        untils = [each.span[1] for each in those if each.column == "run_after" and each.span[1]]
        yield Within("je_job_promote", found, newest_first=_newest_first(run, found, *untils[:1]))


def _newest_first(run: Run, found: Which, until: str | None = None) -> list[Walk]:
    """Past the many that were made since: what was made until then is walked; that nothing made later was due before, the index
    says at once. Past a few, a walk is quicker.
    """
    later = Within("creation", Which(f"creation > {until}")).everything
    if until is None or are_at_most(run, later, COVERED):
        return []
    ((name,),) = run(f"SELECT name FROM {later.source} ORDER BY creation LIMIT 1", ())
    return [
        Walk("PRIMARY", Which("name < %s", (name,)), ("name",)),
        Walk("je_job_promote", found.and_("name >= %s", name), ("name",)),
    ]


def _by_lane(run: Run, wanted: Which, filters: Sequence[Filter]) -> Iterator[Within]:
    """A lane begins with priority, queue and organization: of those that there are, some match."""
    those = [each.condition for each in filters if each.column in ("queue", "priority")]
    found = list(lane_places(run)) if those else []
    if found:
        rows = " UNION ALL ".join(["SELECT %s AS place, %s AS priority, %s AS queue"] * len(found))
        values = [(place, PRIORITIES[int(place[0])], place.split("|")[1]) for _, place in found]
        sql = f"SELECT place FROM ({rows}) {{job}} WHERE {' AND '.join(those)}"
        matching = {place for (place,) in run(sql, [value for row in values for value in row])}
        found = [(status, place) for status, place in found if place in matching]
        given = wanted.given.get("organization", ())
        whose = [f"|{name}" for name in as_written(run, "organization", _BY_VALUE["organization"], given)]
        lanes = [lanes_of(status, place + organization) for status, place in found for organization in whose or [""]]
        yield Within("je_job_claim", any_of(lanes), frozenset(status for status, _ in found))


_WAYS: tuple[Way, ...] = (_by_parent, _by_state, _by_leases, _by_value, _by_time, _by_next_try, _by_lane)


def _bare(condition: str) -> str:
    """The same of a column that is never empty, so that an index can help."""
    return re.sub(r"ifnull\(([^,]*), '[^']*'\)", r"\1", condition)


def _in(states: AbstractSet[Status]) -> Which:
    return one_of("status", sorted(status.value for status in states))


def _values(run: Run, index: str, columns: Sequence[str], having: str = "1 = 1") -> list[Which]:
    found = list(groups(run, index, columns, having))
    if len(found) > MOST_WALKS:
        raise TookTooLong
    return found
