"""The database servers: where they are, how durable they are, and an empty database for each round."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit
from uuid import uuid4

VARIABLES = {
    "postgresql": "JOB_ENGINE_TEST_POSTGRESQL",
    "mariadb": "JOB_ENGINE_TEST_MARIADB",
    "redis": "JOB_ENGINE_TEST_REDIS",
}


class ServerMissing(Exception):
    """A figure needs a server that nobody named."""

    def __init__(self, server: str) -> None:
        super().__init__(f'no {server}: set {VARIABLES[server]}, or run `eval "$(scripts/services env)"` first')


def url(server: str) -> str:
    """The URL of a server, from the environment."""
    try:
        return os.environ[VARIABLES[server]]
    except KeyError:
        raise ServerMissing(server) from None


def durability() -> dict[str, str]:
    """What the servers at hand promise when they commit: the figures mean little without it."""
    found = {}
    if VARIABLES["postgresql"] in os.environ:
        with _postgresql(url("postgresql")) as connection:
            names = ("server_version", "fsync", "synchronous_commit")
            found["PostgreSQL"] = ", ".join(f"{n}={connection.execute(f'SHOW {n}').fetchone()[0]}" for n in names)
    if VARIABLES["mariadb"] in os.environ:
        with _mariadb() as connection, connection.cursor() as cursor:
            names = ("version", "innodb_flush_log_at_trx_commit", "log_bin")
            cursor.execute(f"SELECT {', '.join(f'@@{n}' for n in names)}")
            found["MariaDB"] = ", ".join(f"{n}={value}" for n, value in zip(names, cursor.fetchone(), strict=True))
    return found


class PostgresqlDatabase:
    """An empty database, dropped at the end."""

    def __init__(self, name: str) -> None:
        server = url("postgresql")
        self._name = _unique(name)
        self._administration = _postgresql(server)
        self._administration.execute(f"CREATE DATABASE {self._name}")
        self.url = urlunsplit(urlsplit(server)._replace(path=f"/{self._name}"))
        self.connection = _postgresql(self.url)

    def settle(self) -> None:
        """What the server would do by itself before long, done before the clock runs: statistics and a checkpoint."""
        self.connection.execute("VACUUM ANALYZE")
        self._administration.execute("CHECKPOINT")

    def value(self, query: str) -> int:
        return self.connection.execute(query).fetchone()[0]

    def close(self) -> None:
        self.connection.close()
        self._administration.execute(f"DROP DATABASE {self._name} WITH (FORCE)")
        self._administration.close()


class MariadbDatabase:
    """An empty database, dropped at the end."""

    def __init__(self, name: str) -> None:
        self._name = _unique(name)
        self.connection = _mariadb()
        self.execute(f"CREATE DATABASE {self._name} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
        self.execute(f"USE {self._name}")
        self.url = urlunsplit(urlsplit(url("mariadb"))._replace(path=f"/{self._name}"))

    def settle(self, *tables: str) -> None:
        """What the server would do by itself before long, done before the clock runs: statistics."""
        for table in tables:
            self.execute(f"ANALYZE TABLE {table}")

    def execute(self, query: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def value(self, query: str) -> int:
        return self.execute(query)[0][0]

    def close(self) -> None:
        self.execute(f"DROP DATABASE {self._name}")
        self.connection.close()


def _unique(name: str) -> str:
    """Two of a kind may exist at a time, and so may two benchmarks."""
    return f"job_engine_benchmark_{name}_{uuid4().hex[:8]}"


def _postgresql(address: str) -> Any:
    import psycopg

    return psycopg.connect(address, autocommit=True)


def _mariadb() -> Any:
    import pymysql

    server = urlsplit(url("mariadb"))
    return pymysql.connect(
        host=server.hostname,
        port=server.port or 3306,
        user=unquote(server.username or ""),
        password=unquote(server.password or ""),
        autocommit=True,
    )
