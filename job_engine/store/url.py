"""From a URL to a dialect."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

from job_engine.core.errors import JobEngineError
from job_engine.store.dialect import Dialect


def dialect_for(url: str) -> Dialect:
    scheme = urlsplit(url).scheme.partition("+")[0]  # "postgresql+psycopg" is how SQLAlchemy spells it
    if scheme == "sqlite":
        from job_engine.store.sqlite import SQLite

        return SQLite(*_sqlite_file(url))
    if scheme in ("postgresql", "postgres"):
        from job_engine.store.postgresql import PostgreSQL

        return PostgreSQL("postgresql:" + url.partition(":")[2])
    if scheme in ("mariadb", "mysql"):
        from job_engine.store.mariadb import MariaDB

        return MariaDB.of(url)
    raise JobEngineError(
        f"{_without_secret(url)!r} names no database that is supported. Write sqlite:///jobs.db, "
        "postgresql://user:password@host/database or mariadb://user:password@host/database."
    )


def _sqlite_file(url: str) -> tuple[str, float | None]:
    """Three slashes and a relative path, four and an absolute one, as SQLAlchemy has it; `?busy_seconds=5` may follow."""
    rest, _, query = url.partition(":")[2].partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    busy_seconds = options.pop("busy_seconds", None)
    if not rest.startswith("///") or options:
        raise JobEngineError(
            f"{url!r} cannot be read. Write sqlite:///jobs.db, sqlite:////var/lib/jobs.db or sqlite:///jobs.db?busy_seconds=5."
        )
    try:
        return unquote(rest[3:]), None if busy_seconds is None else float(busy_seconds)
    except ValueError:
        raise JobEngineError(f"busy_seconds is {busy_seconds!r}; it is a number of seconds.") from None


def _without_secret(url: str) -> str:
    password = urlsplit(url).password
    return url.replace(f":{password}@", ":********@") if password else url
