"""Scratch databases on a real server: made once for a test session, clean for every test.

To empty tables takes a millisecond, to create them fifty or more. So the engine's tables are created once and their rows
deleted before each test; a test that left other tables or indexes behind makes the next one start from a new database.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

CreateTables = Callable[[str], None]

# From here on TRUNCATE is quicker than DELETE, and leaves no dead rows behind to slow the next test down.
MANY_ROWS = 1000


class ScratchDatabase:
    """One database on the server that `server_url` names. The account there must be allowed to create databases."""

    quote = '"'

    def __init__(self, server_url: str, label: str, create_tables: CreateTables | None):
        self.name = f"job_engine_test_{label}_{os.getpid()}"
        self.url = urlsplit(server_url)._replace(path=f"/{self.name}").geturl()
        self._create_tables = create_tables
        self._server_url = server_url
        self._create_database()
        self._cursor = self._connect(self.url)
        self._build()

    def clean(self) -> None:
        """Back to the state right after creation, whatever the last test did."""
        self._disconnect_others()
        for table in self._tables() - self._initial_rows.keys():
            self._execute(f"DROP TABLE {self._quoted(table)}")
        if self._create_tables is None or self._shape() != self._initial_shape:
            self._wipe()
            self._build()
            return
        for table, rows in self._initial_rows.items():
            self._empty(self._quoted(table))
            for row in rows:
                values = ", ".join(["%s"] * len(row))
                self._execute(f"INSERT INTO {self._quoted(table)} VALUES ({values})", row)

    def drop(self) -> None:
        self._disconnect_others()
        self._cursor.connection.close()
        self._drop_database()

    def _build(self) -> None:
        if self._create_tables is not None:
            self._create_tables(self.url)
        self._initial_shape = self._shape()
        self._initial_rows = {
            table: self._execute(f"SELECT * FROM {self._quoted(table)}").fetchall() for table in self._tables()
        }

    def _empty(self, table: str) -> None:
        many = self._execute(f"SELECT 1 FROM {table} LIMIT 1 OFFSET {MANY_ROWS}").fetchone()
        self._execute(f"TRUNCATE {table}" if many else f"DELETE FROM {table}")

    def _tables(self) -> set[str]:
        return {name for name, kind, _ in self._shape() if kind == "table"}

    def _execute(self, sql: str, params: Any = None) -> Any:
        self._cursor.execute(sql, params)
        return self._cursor

    def _quoted(self, name: str) -> str:
        return f"{self.quote}{name}{self.quote}"

    # What differs between the servers

    def _connect(self, url: str) -> Any:
        """A cursor of a new connection that commits each statement."""
        raise NotImplementedError

    def _shape(self) -> set[tuple[str, str, int]]:
        """Every table and index: its name, "table" or "index", its number of columns."""
        raise NotImplementedError

    def _disconnect_others(self) -> None:
        """No connection outlives its test: a forgotten transaction would keep its locks."""
        raise NotImplementedError

    def _wipe(self) -> None:
        """Remove every table."""
        raise NotImplementedError

    def _create_database(self) -> None:
        self._on_server(f"CREATE DATABASE {self._quoted(self.name)}")

    def _drop_database(self) -> None:
        self._on_server(f"DROP DATABASE IF EXISTS {self._quoted(self.name)}")

    def _on_server(self, sql: str) -> None:
        cursor = self._connect(self._server_url)
        cursor.execute(sql)
        cursor.connection.close()


class PostgreSQLDatabase(ScratchDatabase):
    def _connect(self, url: str) -> Any:
        import psycopg

        return psycopg.connect(url, autocommit=True).cursor()

    def _shape(self) -> set[tuple[str, str, int]]:
        # relnatts also counts columns that were dropped: any change of the columns changes it.
        found = self._execute(
            "SELECT relname, CASE relkind WHEN 'r' THEN 'table' ELSE 'index' END, relnatts FROM pg_class"
            " WHERE relnamespace = to_regnamespace('public') AND relkind IN ('r', 'i')"
        )
        return set(found.fetchall())

    def _disconnect_others(self) -> None:
        self._execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )

    def _wipe(self) -> None:
        self._execute("DROP SCHEMA public CASCADE")
        self._execute("CREATE SCHEMA public")


class MariaDBDatabase(ScratchDatabase):
    quote = "`"

    def _connect(self, url: str) -> Any:
        import pymysql

        parts = urlsplit(url)
        connection = pymysql.connect(
            host=parts.hostname,
            port=parts.port or 3306,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=parts.path.strip("/") or None,
            charset="utf8mb4",
            autocommit=True,
        )
        return connection.cursor()

    def _shape(self) -> set[tuple[str, str, int]]:
        found = self._execute(
            "SELECT table_name, 'table', COUNT(*) FROM information_schema.columns"
            " WHERE table_schema = DATABASE() GROUP BY table_name"
            " UNION ALL SELECT CONCAT(table_name, '.', index_name), 'index', COUNT(*) FROM information_schema.statistics"
            " WHERE table_schema = DATABASE() GROUP BY table_name, index_name"
        )
        return set(found.fetchall())

    def _disconnect_others(self) -> None:
        import pymysql

        others = self._execute(
            "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
        )
        for (connection,) in others.fetchall():
            try:
                self._execute(f"KILL {int(connection)}")
            except pymysql.err.OperationalError:
                pass  # it ended by itself in the meantime

    def _wipe(self) -> None:
        self._drop_database()
        self._create_database()
        self._execute(f"USE {self._quoted(self.name)}")


KINDS: dict[str, type[ScratchDatabase]] = {"postgresql": PostgreSQLDatabase, "mariadb": MariaDBDatabase}
