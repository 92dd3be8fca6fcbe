"""Enqueue in a transaction that the caller has: DB-API, SQLAlchemy, Django. The job exists if and only if that commits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from job_engine.core.errors import JobEngineError, UnknownParent
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.store import dependencies
from job_engine.tests.clock import FrozenClock


class Caller:
    """An application's transaction: what to pass to `enqueue`, and how the application ends it."""

    def __init__(self, connection: Any, commit: Callable[[], Any], rollback: Callable[[], Any]):
        self.connection, self.commit, self.rollback = connection, commit, rollback


def _dbapi_connection(url: str, **options: Any) -> Any:
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        import sqlite3

        return sqlite3.connect(url.removeprefix("sqlite:///"), **options)
    if parts.scheme == "postgresql":
        import psycopg

        return psycopg.connect(url, **options)
    import pymysql

    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=parts.path.strip("/"),
        **options,
    )


@contextmanager
def dbapi(url: str) -> Iterator[Caller]:
    connection = _dbapi_connection(url)
    yield Caller(connection, connection.commit, connection.rollback)
    connection.close()


@contextmanager
def dbapi_with_rows_that_are_no_tuples(url: str) -> Iterator[Caller]:
    if url.startswith("sqlite"):
        import sqlite3

        connection = _dbapi_connection(url)
        connection.row_factory = lambda cursor, row: sqlite3.Row(cursor, row)
    elif url.startswith("postgresql"):
        from psycopg.rows import dict_row

        connection = _dbapi_connection(url, row_factory=dict_row)
    else:
        import pymysql

        connection = _dbapi_connection(url, cursorclass=pymysql.cursors.DictCursor)
    yield Caller(connection, connection.commit, connection.rollback)
    connection.close()


def _sqlalchemy_engine(url: str) -> Any:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    driver = {"postgresql": "postgresql+psycopg", "mariadb": "mariadb+pymysql", "sqlite": "sqlite"}
    return sqlalchemy.create_engine(url.replace(*(lambda s: (s, driver[s]))(urlsplit(url).scheme), 1))


@contextmanager
def sqlalchemy_session(url: str) -> Iterator[Caller]:
    engine = _sqlalchemy_engine(url)
    from sqlalchemy.orm import Session

    with Session(engine) as session:
        yield Caller(session, session.commit, session.rollback)
    engine.dispose()


@contextmanager
def sqlalchemy_connection(url: str) -> Iterator[Caller]:
    engine = _sqlalchemy_engine(url)
    with engine.connect() as connection:
        yield Caller(connection, connection.commit, connection.rollback)
    engine.dispose()


@contextmanager
def django_connection(url: str) -> Iterator[Caller]:
    pytest.importorskip("django")
    parts = urlsplit(url)
    if parts.scheme == "mariadb":
        pytest.skip("Django's MariaDB backend needs mysqlclient, which the engine does not use")
    import django.conf
    from django.db.utils import ConnectionHandler

    if not django.conf.settings.configured:
        django.conf.settings.configure(USE_TZ=True)
    name = url.removeprefix("sqlite:///") if parts.scheme == "sqlite" else parts.path.strip("/")
    connection = ConnectionHandler(
        {
            "default": {
                "ENGINE": f"django.db.backends.{'sqlite3' if parts.scheme == 'sqlite' else 'postgresql'}",
                "NAME": name,
                "HOST": parts.hostname or "",
                "PORT": parts.port or "",
                "USER": unquote(parts.username or ""),
                "PASSWORD": unquote(parts.password or ""),
            }
        }
    )["default"]
    connection.set_autocommit(False)
    yield Caller(connection, connection.commit, connection.rollback)
    connection.rollback()
    connection.close()


CALLERS = [dbapi, dbapi_with_rows_that_are_no_tuples, sqlalchemy_session, sqlalchemy_connection, django_connection]


@pytest.fixture(params=CALLERS, ids=lambda c: c.__name__)
def caller(request: pytest.FixtureRequest, engine: Engine, database_url: str) -> Iterator[Caller]:
    with request.param(database_url) as caller:
        yield caller


@pytest.fixture(autouse=True)
def types(registry: Registry) -> None:
    registry.job("work")(lambda **params: None)


def test_the_job_exists_when_the_caller_commits(engine: Engine, caller: Caller) -> None:
    job = engine.enqueue("work", {"a": 1}, connection=caller.connection)
    assert engine.count() == 0
    caller.commit()
    assert engine.get(job.name) == job
    assert engine.run_once() == 1


def test_no_job_exists_when_the_caller_rolls_back(engine: Engine, caller: Caller) -> None:
    engine.enqueue("work", {"a": 1}, connection=caller.connection)
    engine.enqueue_many("work", [{"a": i} for i in range(3)], connection=caller.connection)
    caller.rollback()
    assert (engine.count(), engine.run_once()) == (0, 0)


def test_a_duplicate_is_the_job_that_is_there(engine: Engine, caller: Caller) -> None:
    """Also where the connection counts found rows instead of changed ones, as SQLAlchemy's and Django's do on MariaDB."""
    by_hash = engine.enqueue("work", {"a": 1})
    by_key = engine.enqueue("work", {"a": 2}, dedup_key="k")
    answers = [
        engine.enqueue("work", {"a": 1}, connection=caller.connection),
        engine.enqueue("work", {"a": 9}, connection=caller.connection, dedup_key="k"),
    ]
    caller.commit()
    assert [(a.name, a.created) for a in answers] == [(by_hash.name, False), (by_key.name, False)]
    assert engine.count() == 2


def test_bulk_answers_are_right_when_some_are_duplicates(engine: Engine, caller: Caller) -> None:
    engine.enqueue_many("work", [{"a": 1}, {"a": 3}])
    answers = engine.enqueue_many("work", [{"a": i} for i in range(5)], connection=caller.connection)
    caller.commit()
    assert [a.created for a in answers] == [True, False, True, False, True]
    assert {engine.get(a.name).params_json for a in answers} == {f'{{"a":{i}}}' for i in range(5)}


def test_a_refused_enqueue_leaves_the_callers_transaction_usable(engine: Engine, caller: Caller) -> None:
    with pytest.raises(UnknownParent):
        engine.enqueue("work", {"a": 1}, connection=caller.connection, depends_on="nobody")
    job = engine.enqueue("work", {"a": 2}, connection=caller.connection)
    caller.commit()
    assert [found.name for found in engine.find()] == [job.name]


def test_a_child_can_follow_its_parent_in_the_same_transaction(engine: Engine, caller: Caller) -> None:
    parent = engine.enqueue("work", {"a": 1}, connection=caller.connection)
    child = engine.enqueue("work", {"a": 2}, connection=caller.connection, depends_on=parent)
    caller.commit()
    assert engine.get(child.name).status is Status.PENDING
    assert engine.run_once() == 2


def test_a_child_is_not_forgotten_whose_parent_completes_while_it_is_enqueued(
    engine: Engine, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent completes just after the child has looked at it. One of the two must wait for the other."""
    parent = engine.enqueue("work", {"a": 1})
    assert engine.store.claim_batch("w1", 1)
    look = dependencies.blockers
    done = threading.Event()

    def complete() -> None:
        engine.store.mark_success(parent.name, "w1", 1)
        engine.store.close()
        done.set()

    thread = threading.Thread(target=complete, daemon=True)

    def look_and_let_the_parent_complete(*arguments: Any) -> int:
        found = look(*arguments)
        thread.start()
        done.wait(0.2)  # if it can complete now it does; otherwise it waits for the caller's commit
        return found

    monkeypatch.setattr(dependencies, "blockers", look_and_let_the_parent_complete)
    child = engine.enqueue("work", {"a": 2}, connection=caller.connection, depends_on=parent)
    caller.commit()
    thread.join(30)
    assert done.is_set()
    assert engine.get(child.name).status is Status.QUEUED


def test_a_connection_that_commits_each_statement_still_makes_all_or_none(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"isolation_level": None} if database_url.startswith("sqlite") else {"autocommit": True}
    connection = _dbapi_connection(database_url, **options)
    parent = engine.enqueue("work", {"parent": 1})

    def fail(*arguments: Any) -> None:
        raise RuntimeError("in the middle")

    monkeypatch.setattr(dependencies, "add", fail)
    with pytest.raises(RuntimeError):
        engine.enqueue_many("work", [{"a": 1}, {"a": 2}], connection=connection, depends_on=parent)
    monkeypatch.undo()
    assert engine.count() == 1
    engine.enqueue("work", {"a": 1}, connection=connection, depends_on=parent)
    connection.close()
    assert engine.count() == 2


def test_a_connection_to_another_kind_of_database_is_refused(engine: Engine, database_url: str, tmp_path: Any) -> None:
    import sqlite3

    if database_url.startswith("sqlite"):
        pytest.skip("SQLite is the other kind here")
    with pytest.raises(JobEngineError, match="same database"):
        engine.enqueue("work", connection=sqlite3.connect(tmp_path / "other.db"))
    assert engine.count() == 0


def test_the_time_is_the_engines_not_the_callers(engine: Engine, caller: Caller, clock: FrozenClock) -> None:
    job = engine.enqueue("work", connection=caller.connection, run_after=60)
    caller.commit()
    assert (engine.get(job.name).creation, engine.run_once()) == (clock.now, 0)
    clock.advance(60)
    assert engine.run_once() == 1
