"""An empty database of each kind for the engine, and the little SQL that only the benchmarks need."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from benchmarks.servers import MariadbDatabase, PostgresqlDatabase
from job_engine.store.dialect import TABLES

#: Statements of the benchmarks name a table by its role, as the engine's own do.
_TABLES = tuple(TABLES.values())


class Database(Protocol):
    url: str
    #: A table of the numbers from 1 on, with the column n.
    series: str

    def execute(self, statement: str) -> None: ...

    def value(self, query: str) -> int: ...

    def columns(self, table: str) -> list[str]: ...

    def later(self, column: str, seconds: str) -> str:
        """The SQL of a time so many seconds after the one in the column."""

    def text(self, *parts: str) -> str:
        """The SQL of parts put together."""

    def settle(self) -> None:
        """Refresh statistics."""

    def close(self) -> None: ...


class Sqlite:
    name = "SQLite"
    settings = "WAL, synchronous=FULL"
    series = (
        "(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}) SELECT n FROM s) series"
    )

    def __init__(self, folder: Path) -> None:
        file = (folder / "jobs.db").absolute()
        self.url = f"sqlite:///{file}"
        self._connection = sqlite3.connect(file, isolation_level=None)

    def execute(self, statement: str) -> None:
        self._connection.execute(statement)

    def value(self, query: str) -> int:
        return self._connection.execute(query).fetchone()[0]

    def columns(self, table: str) -> list[str]:
        return [f'"{row[1]}"' for row in self._connection.execute(f"PRAGMA table_info({table})")]

    def later(self, column: str, seconds: str) -> str:
        # The engine writes microseconds; SQLite's functions know milliseconds.
        return f"strftime('%Y-%m-%d %H:%M:%f', {column}, ({seconds}) || ' seconds') || '000'"

    def text(self, *parts: str) -> str:
        return " || ".join(parts)

    def settle(self) -> None:
        self._connection.execute("ANALYZE")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._connection.close()


class Postgresql(PostgresqlDatabase):
    name = "PostgreSQL"
    settings = "psycopg"
    series = "(SELECT generate_series(1, {count}) AS n) series"

    def __init__(self, folder: Path) -> None:
        super().__init__("ours")

    def execute(self, statement: str) -> None:
        self.connection.execute(statement)

    def columns(self, table: str) -> list[str]:
        return [f'"{column.name}"' for column in self.connection.execute(f"SELECT * FROM {table} LIMIT 0").description]

    def later(self, column: str, seconds: str) -> str:
        return f"{column} + ({seconds}) * interval '1 second'"

    def text(self, *parts: str) -> str:
        return " || ".join(f"({part})::text" for part in parts)


class Mariadb(MariadbDatabase):
    name = "MariaDB"
    settings = "PyMySQL"
    series = "(SELECT seq AS n FROM seq_1_to_{count}) series"

    def __init__(self, folder: Path) -> None:
        super().__init__("ours")

    def columns(self, table: str) -> list[str]:
        with self.connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table} LIMIT 0")
            return [f"`{column[0]}`" for column in cursor.description]

    def later(self, column: str, seconds: str) -> str:
        return f"{column} + INTERVAL ({seconds}) SECOND"

    def text(self, *parts: str) -> str:
        return f"CONCAT({', '.join(parts)})"

    def settle(self) -> None:
        super().settle(*_TABLES)


KINDS: dict[str, Callable[[Path], Any]] = {"sqlite": Sqlite, "postgresql": Postgresql, "mariadb": Mariadb}
