"""Speak to a connection that the caller already has: DB-API, SQLAlchemy or Django. The transaction stays the caller's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from job_engine.core.errors import JobEngineError
from job_engine.store.dialect import Dialect
from job_engine.store.session import Session

_MODULES = {
    "SQLite": ("sqlite3", "pysqlite"),
    "PostgreSQL": ("psycopg", "psycopg2"),
    "MariaDB": ("pymysql", "MySQLdb", "mariadb", "mysql"),
}


def adopt(dialect: Dialect, connection: Any) -> Session:
    driver = driver_connection(connection)
    packages = {base.__module__.partition(".")[0].lstrip("_") for base in type(driver).__mro__}
    if not hasattr(driver, "cursor"):
        raise JobEngineError(f"{connection!r} is no database connection.")
    if packages.isdisjoint(m.lstrip("_") for m in _MODULES[dialect.name]):
        raise JobEngineError(
            f"The connection is one of {type(driver).__module__}, but the engine's jobs are in {dialect.name}. "
            "A job can only share a transaction with data in the same database."
        )
    session = Session(dialect, driver, adopted=True)
    dialect.check_adopted(session)
    return session


@contextmanager
def joined(session: Session) -> Iterator[Session]:
    """Within the caller's transaction. Where the caller has none, because each statement commits, in one of our own."""
    if session.dialect.commits_each_statement(session):
        with session.transaction():
            yield session
    else:
        session.dialect.join(session)
        yield session


def driver_connection(connection: Any) -> Any:
    """The driver's own connection under whatever the caller has."""
    if hasattr(connection, "driver_connection"):  # ours, and SQLAlchemy's pool proxy
        return connection.driver_connection
    if hasattr(connection, "ensure_connection"):  # Django's wrapper
        connection.ensure_connection()
        return connection.connection
    if hasattr(connection, "get_bind") and callable(getattr(connection, "connection", None)):  # SQLAlchemy's Session
        return driver_connection(connection.connection())
    if hasattr(connection, "exec_driver_sql"):  # SQLAlchemy's Connection
        if not connection.in_transaction():  # it begins at its own first statement, and ours is none of those
            connection.begin()
        return driver_connection(connection.connection)
    return connection
