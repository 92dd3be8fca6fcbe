"""From a URL to a dialect."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from job_engine.core.errors import JobEngineError
from job_engine.store.dialect import Dialect


def dialect_for(url: str) -> Dialect:
    scheme = urlsplit(url).scheme.partition("+")[0]  # "postgresql+psycopg" is how SQLAlchemy spells it
    if scheme == "sqlite":
        from job_engine.store.sqlite import SQLite

        return SQLite(_sqlite_path(url))
    if scheme in ("postgresql", "postgres"):
        from job_engine.store.postgresql import PostgreSQL

        return PostgreSQL("postgresql:" + url.partition(":")[2])
    if scheme in ("mariadb", "mysql"):
        from job_engine.store.mariadb import MariaDB

        return MariaDB(url)
    raise JobEngineError(
        f"{_without_secret(url)!r} names no database that is supported. Write sqlite:///jobs.db, "
        "postgresql://user:password@host/database or mariadb://user:password@host/database."
    )


def _sqlite_path(url: str) -> str:
    """Three slashes and a relative path, four and an absolute one, as SQLAlchemy has it."""
    rest = url.partition(":")[2]
    if not rest.startswith("///"):
        raise JobEngineError(f"{url!r} cannot be read. Write sqlite:///jobs.db, or sqlite:////var/lib/jobs.db.")
    return unquote(rest[3:])


def _without_secret(url: str) -> str:
    password = urlsplit(url).password
    return url.replace(f":{password}@", ":********@") if password else url
