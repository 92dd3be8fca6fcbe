"""MariaDB (10.6 or newer, for SKIP LOCKED) through PyMySQL, the driver that Frappe brings."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote

from job_engine.core.clock import utc
from job_engine.core.errors import JobEngineError
from job_engine.store.dialect import Dialect, split_url
from job_engine.store.literals import Literals
from job_engine.store.session import Session

# Server gone, lost, refused, shutting down, too many connections, killed.
_DISCONNECT = frozenset({2002, 2003, 2006, 2013, 2055, 1040, 1053, 1927, 1129, 4031})

_CHARSET = "utf8mb4"
# It takes no gap locks, which otherwise deadlock claimers against inserters.
_ISOLATION = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"


@functools.cache
def connection_class() -> Any:
    """PyMySQL's, made when a URL asks for it: the package is an optional one."""
    import pymysql

    base: Any = pymysql.connections.Connection

    class Connection(base):  # type: ignore[misc]
        """Makes the TLS context of a connection without options once: from 1.2 on PyMySQL does so for each, in 30 ms and more."""

        _context: Any = None

        def _create_ssl_ctx(self, options: Any) -> Any:
            if options:
                return super()._create_ssl_ctx(options)
            if Connection._context is None:
                Connection._context = super()._create_ssl_ctx(options)
            return Connection._context

        def set_character_set(self, charset: str, collation: str | None = None) -> None:
            """Said with the first statement where several can be sent at once, instead of in a round trip of its own."""
            if not self.client_flag & pymysql.constants.CLIENT.MULTI_STATEMENTS:
                super().set_character_set(charset, collation)

    return Connection


def as_text(moment: datetime) -> str:
    """What PyMySQL would make of it, sooner: several of these are part of every job."""
    return moment.isoformat(" ")


class MariaDB(Dialect):
    name = "MariaDB"
    returns_updated = False
    takes_several = True
    partial_indexes = False
    clauses: ClassVar[dict[str, str]] = {
        "skip_locked": " FOR UPDATE SKIP LOCKED",
        "for_update": " FOR UPDATE",
        "for_share": " LOCK IN SHARE MODE",
        "latest": " FOR UPDATE",
        "skip_locked_j": " FOR UPDATE SKIP LOCKED",
        "user": "`user`",
    }
    types: ClassVar[dict[str, str]] = {
        "key": "varchar(140)",
        "lane": "varchar(460)",
        "text": "varchar(500)",
        "long": "mediumtext",
        "time": "datetime(6)",
        "serial": "bigint PRIMARY KEY AUTO_INCREMENT",
        "log_key": "",
        "suffix": " ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin",
    }
    tables_like = "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = %s"
    promote_order = ""  # here it would be a sort of everything that is due
    # One lookup for each state: over all three at once, every row would be read.
    next_due = "SELECT MIN(due) FROM ({}) waiting".format(
        " UNION ALL ".join(
            f"SELECT MIN(run_after) AS due FROM {{job}} WHERE status = '{status}' AND blockers = 0"
            for status in ("Pending", "Failed", "Timed Out")
        )
    )
    now = "SELECT UTC_TIMESTAMP(6)"
    # The assignment changes nothing, so a taken key counts zero rows; INSERT IGNORE would hide other errors as well.
    insert_new = "INSERT INTO {job} ({columns}) {source} ON DUPLICATE KEY UPDATE name = {job}.name"
    insert_control = "INSERT IGNORE INTO {control} (scope, target) VALUES (%s, %s)"
    upsert_stat = (
        "INSERT INTO {stat} ({columns}) {source}"
        " ON DUPLICATE KEY UPDATE n = n + VALUES(n), seconds = seconds + VALUES(seconds)"
    )

    def __init__(self, arguments: dict[str, Any], tables: dict[str, str] | None = None):
        """`arguments` are those of PyMySQL's connect()."""
        super().__init__(tables)
        try:
            import pymysql
        except ImportError as error:
            raise JobEngineError("MariaDB needs the PyMySQL package: pip install 'PyMySQL'") from error
        self._pymysql = pymysql
        self._arguments = arguments
        self._literals = Literals()
        self.address = f"mariadb:{arguments['host']}:{arguments['port']}/{arguments['database']}"

    @classmethod
    def of(cls, url: str) -> MariaDB:
        parts, port = split_url(url)
        if not parts.path.strip("/"):
            raise JobEngineError("The URL names no database. Write mariadb://user:password@host:3306/database.")
        return cls(
            {
                "host": parts.hostname or "localhost",
                "port": port or 3306,
                "user": unquote(parts.username or ""),
                "password": unquote(parts.password or ""),
                "database": unquote(parts.path.strip("/")),
                **dict(parse_qsl(parts.query)),
            }
        )

    def connect(self) -> Any:
        return self._connected(init_command=_ISOLATION)

    def connect_for_ourselves(self) -> Any:
        return self._connected(client_flag=self._pymysql.constants.CLIENT.MULTI_STATEMENTS)

    def _connected(self, **more: Any) -> Any:
        return connection_class()(**self._arguments, charset=_CHARSET, autocommit=True, **more)

    def set_up(self, session: Session) -> None:
        session.post(f"SET NAMES {_CHARSET}")
        session.post(_ISOLATION)

    def begin_claim(self, session: Session) -> None:
        session.post(self.begin)

    def prepare_for_handlers(self, connection: Any) -> None:
        connection.autocommit(False)  # a deadlock ends the whole transaction, savepoints and all

    def cursor(self, connection: Any) -> Any:
        if isinstance(connection, self._pymysql.connections.Connection):
            return connection.cursor(self._pymysql.cursors.Cursor)
        return connection.cursor()

    def is_disconnect(self, error: BaseException) -> bool:
        if isinstance(error, self._pymysql.err.InterfaceError):
            return True
        code = error.args[0] if error.args else None
        return isinstance(error, self._pymysql.err.MySQLError) and code in _DISCONNECT

    def in_transaction(self, connection: Any) -> bool:
        return bool(connection.server_status & self._pymysql.constants.SERVER_STATUS.SERVER_STATUS_IN_TRANS)

    def commits_each_statement(self, session: Session) -> bool:
        row = session.row("SELECT @@autocommit, @@in_transaction")
        return row is not None and tuple(map(int, row)) == (1, 0)

    @contextmanager
    def schema_lock(self, session: Session) -> Iterator[None]:
        # DDL commits by itself here, so that no transaction can protect it.
        session.row("SELECT GET_LOCK(CONCAT(DATABASE(), '.job_engine'), 60)")
        try:
            yield
        finally:
            session.row("SELECT RELEASE_LOCK(CONCAT(DATABASE(), '.job_engine'))")

    def is_conflict(self, error: BaseException) -> bool:
        code = error.args[0] if error.args else None
        return isinstance(error, self._pymysql.err.MySQLError) and code in (1213, 1020)

    def lanes_walk(self, ranges: Sequence[tuple[str, str]], most: int) -> tuple[str, Sequence[Any]]:
        # A correlated MIN() reads every job of a lane here; GROUP BY is what MariaDB answers by hopping ("loose scan").
        one = (
            "(SELECT lane FROM {job} WHERE status = 'Queued' AND lane > %s AND lane < %s"
            f" GROUP BY status, lane LIMIT {most})"
        )
        walk = " UNION ALL ".join([one] * len(ranges))
        return walk, [bound for bounds in ranges for bound in bounds]

    def insert_of(
        self, connection: Any, statement: str, columns: str, rows: Sequence[Sequence[Any]], alike: int = 0
    ) -> tuple[str, Any]:
        drivers: Any = self._pymysql.connections.Connection
        if not isinstance(connection, drivers):  # a caller's, of another driver
            return super().insert_of(connection, statement, columns, rows)
        without_backslashes = self._pymysql.constants.SERVER_STATUS.SERVER_STATUS_NO_BACKSLASH_ESCAPES
        literals = Literals() if connection.server_status & without_backslashes else self._literals
        head, tail = self._around_values(statement, columns)
        escape, encoders = connection.escape, connection.encoders
        return f"{head}{literals.rows(rows, lambda value: escape(value, encoders), alike)}{tail}", None

    def to_db(self, value: datetime | None) -> Any:
        return None if value is None else as_text(utc(value).replace(tzinfo=None))

    def packed(self, columns: str) -> str:
        # PyMySQL reads every column of every row in Python, and what each column is once more in every answer. NULL if
        # it would be longer than max_allowed_packet.
        return f"JSON_ARRAY({columns})"

    def from_db(self, value: Any) -> datetime | None:
        return None if value is None else value.replace(tzinfo=timezone.utc)
