"""PostgreSQL through psycopg 3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, ClassVar
from urllib.parse import quote, unquote, urlunsplit

from job_engine.core.clock import utc
from job_engine.core.errors import JobEngineError
from job_engine.store import schema
from job_engine.store.dialect import Dialect, split_url
from job_engine.store.session import Session
from job_engine.store.waiting import NotifyWaiter, Waiter

CHANNEL = "job_engine"

_FIELD_TYPES = {column: "timestamptz" if kind == "{time}" else kind for column, kind in schema.COLUMN_TYPES.items()}


class PostgreSQL(Dialect):
    name = "PostgreSQL"
    clauses: ClassVar[dict[str, str]] = {
        "skip_locked": " FOR UPDATE SKIP LOCKED",
        "for_update": " FOR UPDATE",
        "for_share": " FOR SHARE",
        "latest": "",
        "skip_locked_j": " FOR UPDATE OF j SKIP LOCKED",
        "user": '"user"',
    }
    # Collation "C" compares bytes: lanes are ranges of bytes, and keys need no language.
    types: ClassVar[dict[str, str]] = {
        "key": 'text COLLATE "C"',
        "lane": 'text COLLATE "C"',
        "text": "text",
        "long": "text",
        "time": "timestamptz",
        "serial": "bigserial",
        "log_key": ", PRIMARY KEY (job, id)",  # one index instead of two on the table that is written most
        "suffix": "",
    }
    # Every claim and every finish leaves a dead row behind: clean up by count, not by share of a table that only grows.
    tuning = (
        "ALTER TABLE {job} SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000,"
        " autovacuum_analyze_scale_factor = 0.02, fillfactor = 85)",
    )
    tables_like = "SELECT 1 FROM pg_class WHERE oid = to_regclass(%s)"
    lane_parameter = "%s::text"
    now = "SELECT clock_timestamp()"
    insert_new = "INSERT INTO {job} ({columns}) {source} ON CONFLICT DO NOTHING RETURNING name"
    insert_control = "INSERT INTO {control} (scope, target) VALUES (%s, %s) ON CONFLICT DO NOTHING"
    upsert_stat = (
        "INSERT INTO {stat} AS s ({columns}) {source}"
        " ON CONFLICT (at, job_type, organization, event, bucket, shard)"
        " DO UPDATE SET n = s.n + excluded.n, seconds = s.seconds + excluded.seconds"
    )

    def __init__(self, url: str):
        super().__init__()
        try:
            import psycopg
        except ImportError as error:
            raise JobEngineError("PostgreSQL needs the psycopg package: pip install 'psycopg[binary]'") from error
        self._psycopg = psycopg
        parts, port = split_url(url)
        self.url = urlunsplit(parts._replace(netloc=_quoted(parts.netloc)))
        self.address = f"postgresql:{parts.hostname}:{port}{parts.path}"

    def connect(self) -> Any:
        # What the planner knows of a table like this is always out of date. Every query of ours has an index in the order
        # it wants, so the one thing to keep it from is to collect all matching rows first and sort them.
        connection = self._psycopg.connect(self.url, autocommit=True)
        connection.execute("SET timezone = 'UTC'; SET enable_bitmapscan = off; SET enable_sort = off")
        return connection

    def prepare_for_handlers(self, connection: Any) -> None:
        connection.execute("RESET enable_bitmapscan; RESET enable_sort")  # handlers' own queries are planned as ever

    def cursor(self, connection: Any) -> Any:
        if isinstance(connection, self._psycopg.Connection):
            return self._psycopg.Cursor(connection, row_factory=self._psycopg.rows.tuple_row)
        return connection.cursor()  # psycopg2, as some applications still bring

    def waiter(self) -> Waiter:
        return NotifyWaiter(self.address, Session(self, self.connect()), CHANNEL)

    def is_disconnect(self, error: BaseException) -> bool:
        if isinstance(error, (self._psycopg.OperationalError, self._psycopg.InterfaceError)):
            state = getattr(error, "sqlstate", None) or ""
            return not state or state.startswith(("08", "57P", "53"))
        return False

    def in_transaction(self, connection: Any) -> bool:
        return int(connection.info.transaction_status) != 0  # idle; psycopg2 counts alike

    def commits_each_statement(self, session: Session) -> bool:
        return bool(session.connection.autocommit) and not self.in_transaction(session.connection)

    def begin_claim(self, session: Session) -> None:
        session.execute(f"{self.begin}; SET LOCAL synchronous_commit = off")

    def to_db(self, value: datetime | None) -> Any:
        return None if value is None else utc(value)

    def from_db(self, value: Any) -> datetime | None:
        return None if value is None else value.astimezone(timezone.utc)

    def insert_of(
        self, connection: Any, statement: str, columns: str, rows: Sequence[Sequence[Any]], alike: int = 0
    ) -> tuple[str, Any]:
        # One array for each column, however many rows: a statement that stays prepared, and no time spent on thousands of
        # placeholders. What is the same in all rows goes beside them; a single row is nothing else.
        wanted: list[str] = []
        constants: list[Any] = []
        fields: dict[str, str] = {}  # the name and the array of each column that varies
        for name, values in zip(columns.split(", "), zip(*rows, strict=True), strict=True):
            if values.count(values[0]) == len(values):
                wanted.append(f"%s::{_type_of(name)}")
                constants.append(values[0])
            else:
                wanted.append(name)
                fields[name] = _array(values)
        source = f"SELECT {', '.join(wanted)}"
        if fields:
            arrays = ", ".join(f"%s::{_type_of(name)}[]" for name in fields)
            source += f" FROM unnest({arrays}) AS r ({', '.join(fields)})"
        elif len(rows) > 1:
            source += f" FROM generate_series(1, {len(rows)})"
        template = statement.replace("{columns}", columns).replace("{source}", source)
        return self.sql(template), (*constants, *fields.values())

    def among(self, column: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
        return f"{column} = ANY(%s::text[])", [_array(values)]  # one prepared statement for lists of any length

    @contextmanager
    def schema_lock(self, session: Session) -> Iterator[None]:
        # CREATE TABLE IF NOT EXISTS still fails on a catalogue key when two run at once.
        session.execute("SELECT pg_advisory_xact_lock(%s)", (0x6A6F62,))
        yield

    def is_conflict(self, error: BaseException) -> bool:
        return getattr(error, "sqlstate", None) in ("40001", "40P01")

    def announce(self, session: Session, queues: Iterable[str]) -> None:
        for queue in queues:
            session.execute("SELECT pg_notify(%s, %s)", (CHANNEL, queue))


def _type_of(column: str) -> str:
    return _FIELD_TYPES.get(column, "text")


def _array(values: Sequence[Any]) -> str:
    """An array's literal, written here: the driver takes ten times as long."""
    text = '","'.join(values) if all(type(value) is str for value in values) else ""
    if text and "\\" not in text and text.count('"') == 2 * (len(values) - 1):
        return f'{{"{text}"}}'  # names, as a rule, which have nothing to escape
    return f"{{{','.join(map(_element, values))}}}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        escaped = value.replace("\\", r"\\").replace('"', r"\"")
        return f'"{escaped}"'
    return value.isoformat() if isinstance(value, datetime) else repr(value)


def _quoted(netloc: str) -> str:
    """With the password's special characters escaped: the driver would take what follows an "@" for the host."""
    login, at, host = netloc.rpartition("@")
    user, colon, password = login.partition(":")
    return f"{quote(unquote(user), safe='')}{colon}{quote(unquote(password), safe='')}{at}{host}"
