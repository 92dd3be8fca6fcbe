"""What differs between databases, and nothing else. One subclass for each in sqlite.py, postgresql.py, mariadb.py.

Statements are templates: `{job}` and the like are table names, `{skip_locked}` a clause of the dialect, `%s` a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import SplitResult, urlsplit

from job_engine.core.errors import JobEngineError
from job_engine.store.waiting import BackoffWaiter, Waiter

if TYPE_CHECKING:
    from job_engine.store.session import Session

TABLES = {
    "job": "background_job",
    "log": "job_execution_log",
    "dependency": "job_dependency",
    "control": "job_control",
    "stat": "job_stat",
    "worker": "job_worker",
    "meta": "job_engine_meta",
}


# A recursion of lookups in the claim's index: its cost is the number of lanes, not of jobs.
_WALK = """
WITH RECURSIVE walk (lane, upto, hops) AS (
    SELECT (SELECT MIN(lane) FROM {job} WHERE status = 'Queued' AND lane > seed.origin AND lane < seed.upto),
        seed.upto, 1
    FROM ({seeds}) seed
    UNION ALL
    SELECT (SELECT MIN(lane) FROM {job} WHERE status = 'Queued' AND lane > walk.lane AND lane < walk.upto),
        walk.upto, walk.hops + 1
    FROM walk WHERE walk.lane IS NOT NULL AND walk.hops < %s
)
SELECT lane FROM walk WHERE lane IS NOT NULL
"""


def split_url(url: str) -> tuple[SplitResult, int | None]:
    parts = urlsplit(url)
    try:
        return parts, parts.port
    except ValueError:
        port = parts.netloc.rpartition(":")[2]
        raise JobEngineError(f"The URL's port is {port!r}, which is no number from 0 to 65535.") from None


class Dialect:
    name: str
    address: str  # of the database, without secrets; what waiters of one process share
    clauses: ClassVar[dict[str, str]]  # fills the templates, beside the table names
    types: ClassVar[dict[str, str]]  # fills the schema
    placeholder = "%s"
    returns_updated = True  # UPDATE ... RETURNING
    partial_indexes = True
    takes_several = False  # statements at once, on a connection for ourselves
    one_writer = False  # a transaction that writes keeps everybody else from writing
    begins_by_itself = False  # a handler's connection begins a transaction when it first writes, and not before
    lane_parameter = "%s"
    owner_columns: tuple[
        str, ...
    ] = ()  # of a job, filled with its user: where a framework wants to know whose row it is

    def __init__(self, tables: dict[str, str] | None = None):
        self._words = {"log_id": "id", **(tables or TABLES), **self.clauses}
        self._rendered: dict[str, str] = {}
        self._inserts: dict[tuple[str, str], tuple[str, str]] = {}

    def sql(self, template: str) -> str:
        """The template in this dialect. Rendered once for each template."""
        rendered = self._rendered.get(template)
        if rendered is None:
            rendered = template.format_map(self._words).replace("%s", self.placeholder)
            self._rendered[template] = rendered
        return rendered

    # Connections

    def connect(self) -> Any:
        """A new connection of our own: autocommit, so that every transaction is begun in so many words."""
        raise NotImplementedError

    def connect_for_ourselves(self) -> Any:
        """The same, for a connection on which no handler will speak."""
        return self.connect()

    def set_up(self, session: Session) -> None:
        """What a new session for ourselves needs."""

    def prepare_for_handlers(self, connection: Any) -> None:
        """Let no statement commit by itself when an error has ended the transaction and a handler goes on regardless."""

    def cursor(self, connection: Any) -> Any:
        """A cursor that returns plain tuples, however the connection's owner has set it up."""
        return connection.cursor()

    def is_disconnect(self, error: BaseException) -> bool:
        """Whether the error means that the connection is gone or the database cannot be used now."""
        raise NotImplementedError

    def in_transaction(self, connection: Any) -> bool:
        """Whether a transaction is open: some errors end one behind our back."""
        raise NotImplementedError

    def commits_each_statement(self, session: Session) -> bool:
        """Whether an adopted connection is outside a transaction and would not begin one by itself."""
        raise NotImplementedError

    def check_adopted(self, session: Session) -> None:
        """Raise where it is easy to see that an adopted connection leads to another database."""

    def join(self, session: Session) -> None:
        """Make sure that an adopted connection is in a transaction in which what was read stays true."""

    # Values

    def to_db(self, value: datetime | None) -> Any:
        return value

    def from_db(self, value: Any) -> datetime | None:
        return value  # type: ignore[no-any-return]

    def from_clock(self, value: Any) -> datetime | None:
        """The answer to `now`, which need not be stored as the tables' times are."""
        return self.from_db(value)

    def begin_transaction(self, session: Session) -> None:
        session.execute(self.begin)

    def packed(self, columns: str) -> str:
        """Where an update cannot return rows: what to select in place of many columns, if one text of JSON is read sooner."""
        raise NotImplementedError

    # Claims are committed without waiting for the disk, where the database lets one transaction choose

    def before_claim(self, session: Session) -> None:
        pass

    def begin_claim(self, session: Session) -> None:
        self.begin_transaction(session)

    def after_claim(self, session: Session) -> None:
        pass

    # Statements

    def walk_lanes(self, session: Session, ranges: Sequence[tuple[str, str]], most: int) -> list[str]:
        """The lanes of queued jobs within these open ranges, at most so many of each, hopping from one to the next."""
        return session.column(*self.lanes_walk(ranges, most))

    def lanes_walk(self, ranges: Sequence[tuple[str, str]], most: int) -> tuple[str, Sequence[Any]]:
        """The same as a template and its parameters."""
        one = f"SELECT {self.lane_parameter} AS origin, {self.lane_parameter} AS upto"
        seeds = " UNION ALL ".join([one] * len(ranges))
        parameters = [bound for bounds in ranges for bound in bounds]
        return _WALK.replace("{seeds}", seeds), [*parameters, most]

    tuning: tuple[str, ...] = ()  # of the standalone tables, once, after they are made
    tables_like = ""  # SELECT that finds a table by its name

    def has_table(self, session: Session, table: str) -> bool:
        return session.row(self.tables_like, (self._words[table],)) is not None

    @contextmanager
    def schema_lock(self, session: Session) -> Iterator[None]:
        """Keep two processes from creating tables at once. Within a transaction."""
        yield

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the transaction lost against another one and can simply be done again."""
        return False

    begin = "BEGIN"  # of a transaction that will write
    now = ""  # SELECT of the database's own time
    # Ordered, though the order does not matter: only so does every planner walk the index that was made for it.
    promote_order = " ORDER BY run_after"
    next_due = (
        "SELECT run_after FROM {job} WHERE status IN ('Pending', 'Failed', 'Timed Out') AND blockers = 0"
        " ORDER BY run_after LIMIT 1"
    )
    insert_new = ""  # INSERT of {table} ({columns}) {source} that skips rows whose unique key is taken
    insert_sure = "INSERT INTO {job} ({columns}) {source}"  # the same for rows that can have no twin
    insert_control = ""  # INSERT of a control row unless it is there
    upsert_stat = ""

    def insert_of(
        self, connection: Any, statement: str, columns: str, rows: Sequence[Sequence[Any]], alike: int = 0
    ) -> tuple[str, Any]:
        """An INSERT of these rows and its parameters. `statement` says with {columns} and {source} where they go.

        `alike`: so many values at the end of a row are mostly the same from row to row, and from statement to statement.
        """
        head, tail = self._around_values(statement, columns)
        row = f"({', '.join([self.placeholder] * len(rows[0]))})"
        if len(rows) == 1:
            return f"{head}{row}{tail}", rows[0]
        return f"{head}{', '.join([row] * len(rows))}{tail}", [value for row in rows for value in row]

    def _around_values(self, statement: str, columns: str) -> tuple[str, str]:
        """What stands before and after the values of an INSERT."""
        key = statement, columns
        if key not in self._inserts:
            head, _, tail = statement.replace("{columns}", columns).partition("{source}")
            self._inserts[key] = f"{self.sql(head)}VALUES ", self.sql(tail)
        return self._inserts[key]

    def among(self, column: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
        """A condition that `column` is one of `values`, and its parameters."""
        return f"{column} IN ({', '.join(['%s'] * len(values))})", list(values)

    def waiter(self) -> Waiter:
        """What an idle worker waits with."""
        return BackoffWaiter(self.address)

    def announce(self, session: Session, queues: Iterable[str]) -> None:
        """Tell idle workers, within the transaction, that jobs came in. Databases without a channel have none."""
