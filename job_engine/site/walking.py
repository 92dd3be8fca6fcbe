"""How jobs are found along indexes: which are wanted, where they lie, and walks through a part of them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from job_engine.core.states import Status

MOST_VALUES = 10  # of a column, for which walks are made
MOST_WALKS = 500
_FOR_A_MOMENT = "SET STATEMENT max_statement_time = 0.3 FOR"  # seconds
_TIMED_OUT = 1969  # MariaDB's number of that error

ORGANIZATIONS = "je_job_list_status"  # an index: begins with the organization, and has nearly all that lists are about
# What is read from these indexes without a look at the jobs themselves.
COLUMNS_OF = {
    "je_job_lease": {"name", "status", "lease_expires_at", "error_type", "max_attempts", "attempts", "progress"},
    "je_job_ended": {"name", "status", "ended_at", "started_at"},
    "je_job_promote": {"name", "status", "blockers", "run_after"},
    "je_job_list_type": {"name", "job_type", "creation"},
    "je_job_list_user": {"name", "user", "creation"},
    ORGANIZATIONS: {
        "name", "organization", "status", "creation", "job_type", "user", "attempts", "max_attempts", "progress", "error_type",
        "run_after", "started_at", "ended_at",
    },
}  # fmt: skip

#: Runs a template, with the words of the dialect in it, and its parameters.
Run = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]


class TookTooLong(Exception):
    """A statement was ended by its limit of time."""


@dataclass(frozen=True, slots=True)
class Which:
    """Conditions in SQL and their parameters, and what is known of the jobs that meet them."""

    condition: str
    parameters: tuple[Any, ...] = ()
    given: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by column: they have one of these values
    is_of_a_time: bool = False  # they lie together
    columns: frozenset[str] | None = None  # that the conditions are about; None: of any
    within: Within | None = None  # all of them are found there

    @property
    def source(self) -> str:
        """What a statement reads them from."""
        if self.within is None:
            return f"{{job}} WHERE {self.condition}"
        return f"{{job}} FORCE INDEX ({self.within.index}) WHERE {self.within.where.condition} AND {self.condition}"

    @property
    def source_parameters(self) -> tuple[Any, ...]:
        return self.parameters if self.within is None else (*self.within.where.parameters, *self.parameters)

    def and_(self, condition: str, *parameters: Any) -> Which:
        return replace(self, condition=f"{self.condition} AND {condition}", parameters=(*self.parameters, *parameters))

    def with_given(self, column: str, values: Sequence[str]) -> Which:
        known = {} if len(values) > MOST_VALUES else {column: values}
        return replace(self, given={**self.given, **known})


@dataclass(frozen=True, slots=True)
class Within:
    """A part of the jobs, and the index that leads to it (see narrowing.py)."""

    index: str
    where: Which
    states: frozenset[Status] = frozenset(Status)  # that these jobs are in
    by_age: Sequence[Walk] = ()  # through the same part, in the order of age
    newest_first: Sequence[Walk] = ()  # the same, where only the way from new to old is short
    covers: bool = False  # the index has all that is asked of them
    is_small: bool = False  # all of it is quickly read

    @property
    def everything(self) -> Which:
        return Which("1 = 1", within=self)


@dataclass(frozen=True, slots=True)
class Question:
    """A page of the jobs that are wanted, in the order of a column."""

    wanted: Which
    sort: str
    descending: bool
    start: int
    length: int

    @property
    def way(self) -> str:
        return "DESC" if self.descending else "ASC"


def for_a_moment(run: Run, sql: str, parameters: Sequence[Any]) -> Sequence[Sequence[Any]]:
    try:
        return run(f"{_FOR_A_MOMENT} {sql}", parameters)
    except Exception as error:
        if _TIMED_OUT in (*error.args[:1], *getattr(error.__cause__, "args", ())[:1]):
            raise TookTooLong from error
        raise


def sorted_by(keys: Sequence[str], can_be_empty: bool, way: str) -> str:
    """What is empty comes last, whichever way."""
    return ", ".join([f"{keys[0]} IS NULL"] * can_be_empty + [f"{key} {way}" for key in keys])


def places(values: Sequence[Any]) -> str:
    return ", ".join(["%s"] * len(values))


def one_of(column: str, values: Sequence[str]) -> Which:
    return Which(f"{column} IN ({places(values)})" if values else "1 = 0", tuple(values))


def any_of(parts: Sequence[Which]) -> Which:
    condition = " OR ".join(f"({part.condition})" for part in parts)
    return Which(f"({condition or '1 = 0'})", tuple(value for part in parts for value in part.parameters))


def are_at_most(run: Run, wanted: Which, most: int) -> bool:
    sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM {wanted.source} LIMIT %s) counted"
    return int(run(sql, [*wanted.source_parameters, most + 1])[0][0]) <= most


def first_column(rows: Sequence[Sequence[Any]]) -> list[str]:
    return [row[0] for row in rows]


@dataclass(frozen=True, slots=True)
class Walk:
    """A part of the jobs that an index has in the order of these keys."""

    index: str
    where: Which
    keys: Sequence[str]


def groups(run: Run, index: str, columns: Sequence[str], having: str = "1 = 1") -> Iterator[Which]:
    """The combinations of values that there are. The database hops from one to the next, past the rows they have."""
    if not columns:
        yield Which("1 = 1")
        return
    listed = ", ".join(columns)
    where = " WHERE lease_expires_at IS NULL" if "lease_expires_at" in columns else ""
    source = f"{{job}} FORCE INDEX ({index}){where}"
    for values in run(f"SELECT {listed} FROM {source} GROUP BY {listed} HAVING {having}", ()):
        pairs = list(zip(columns, values, strict=True))
        condition = " AND ".join(f"{column} IS NULL" if value is None else f"{column} = %s" for column, value in pairs)
        yield Which(condition, tuple(value for _, value in pairs if value is not None))


def lane_places(run: Run) -> Iterator[tuple[Status, str]]:
    """The states, priorities and queues that there are, the latter two as a lane begins."""
    hop = "SELECT MIN(lane) FROM {job} FORCE INDEX (je_job_claim) WHERE status = %s AND lane >= %s"
    for status in Status:
        lane = run(hop, (status.value, ""))[0][0]
        while lane is not None:
            place = "|".join(lane.split("|", 2)[:2])
            yield status, place
            lane = run(hop, (status.value, f"{place}}}"))[0][0]


def lanes_of(status: Status, beginning: str) -> Which:
    return Which("status = %s AND lane > %s AND lane < %s", (status.value, f"{beginning}|", f"{beginning}}}"))
