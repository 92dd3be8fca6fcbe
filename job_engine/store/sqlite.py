"""SQLite: one file, one writer at a time. WAL lets readers go on; synchronous=FULL survives a power cut."""

from __future__ import annotations

import functools
import os
import random
import sqlite3
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar

from job_engine.core.clock import utc
from job_engine.core.errors import JobEngineError, StoreUnavailable
from job_engine.store.dialect import Dialect
from job_engine.store.session import Session
from job_engine.store.waiting import SQLiteWaiter, Waiter

BUSY_SECONDS = 15.0


class SQLite(Dialect):
    name = "SQLite"
    placeholder = "?"
    # BEGIN IMMEDIATE makes each writing transaction the only one: there is nothing to lock row by row.
    clauses: ClassVar[dict[str, str]] = {
        "skip_locked": "",
        "for_update": "",
        "for_share": "",
        "latest": "",
        "skip_locked_j": "",
        "user": '"user"',
    }
    types: ClassVar[dict[str, str]] = {
        "key": "TEXT",
        "lane": "TEXT",
        "text": "TEXT",
        "long": "TEXT",
        "time": "TEXT",
        "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "log_key": "",
        "suffix": "",
    }
    tables_like = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = %s"
    one_writer = begins_by_itself = True
    begin = "BEGIN IMMEDIATE"
    now = "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"
    insert_new = "INSERT INTO {job} ({columns}) {source} ON CONFLICT DO NOTHING RETURNING name"
    insert_control = "INSERT INTO {control} (scope, target) VALUES (%s, %s) ON CONFLICT DO NOTHING"
    upsert_stat = (
        "INSERT INTO {stat} ({columns}) {source} ON CONFLICT (at, job_type, organization, event, bucket, shard)"
        " DO UPDATE SET n = n + excluded.n, seconds = seconds + excluded.seconds"
    )

    def __init__(self, path: str, busy_seconds: float | None = None):
        super().__init__()
        if path in ("", ":memory:"):
            raise JobEngineError(
                "A job in memory would be lost with its process. Name a file, such as sqlite:///jobs.db."
            )
        if sqlite3.sqlite_version_info < (3, 35):
            raise JobEngineError(f"SQLite {sqlite3.sqlite_version} is too old: 3.35 or newer is needed (RETURNING).")
        self.path = path
        self.busy_seconds = (
            BUSY_SECONDS if busy_seconds is None else busy_seconds
        )  # how long to wait for whoever writes
        self.address = f"sqlite:{Path(path).absolute()}"

    def connect(self) -> Any:
        try:
            connection = sqlite3.connect(
                self.path,
                timeout=self.busy_seconds,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
        except sqlite3.OperationalError as error:
            folder = Path(self.path).absolute().parent
            raise JobEngineError(
                f"The file {self.path} cannot be opened as a database: {error}. "
                f"Does the folder {folder} exist, and may this user write there?"
            ) from error
        try:
            mode = connection.execute("PRAGMA journal_mode").fetchone()
        except sqlite3.DatabaseError as error:
            if "not a database" not in str(error):
                raise
            raise JobEngineError(f"{self.path} is not an SQLite database. Is it the file you mean?") from error
        if mode != ("wal",):
            # Several processes may be making the file at once, and this switch alone does not wait for a lock.
            self._patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def prepare_for_handlers(self, connection: Any) -> None:
        connection.isolation_level = "IMMEDIATE"  # a full disk ends the whole transaction; so does a checkpoint

    def begin_transaction(self, session: Session) -> None:
        if session.adopted:  # how its owner wants to wait is not ours to change
            session.execute(self.begin)
            return
        # SQLite's own waiting looks every 100 ms in the end, and seldom meets the gap between a busy worker's
        # transactions; looking every millisecond or two, everybody gets a turn.
        session.execute("PRAGMA busy_timeout = 0")
        try:
            self._patiently(lambda: session.execute(self.begin))
        finally:
            session.execute(f"PRAGMA busy_timeout = {int(self.busy_seconds * 1000)}")

    def _patiently(self, work: Callable[[], Any]) -> None:
        until = time.monotonic() + self.busy_seconds
        while True:
            try:
                work()
                return
            except (sqlite3.OperationalError, StoreUnavailable) as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
            time.sleep(random.uniform(0.001, 0.003))

    def cursor(self, connection: Any) -> Any:
        cursor = connection.cursor()
        cursor.row_factory = None
        return cursor

    def waiter(self) -> Waiter:
        return SQLiteWaiter(self.address, Session(self, self.connect()))

    def is_disconnect(self, error: BaseException) -> bool:
        if not isinstance(error, sqlite3.OperationalError):
            return isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error)
        text = str(error)
        return any(
            sign in text for sign in ("locked", "busy", "unable to open", "disk I/O", "database or disk is full")
        )

    def in_transaction(self, connection: Any) -> bool:
        return bool(connection.in_transaction)

    def check_adopted(self, session: Session) -> None:
        main = next((file for _, name, file in session.rows("PRAGMA database_list") if name == "main"), "")
        if os.path.realpath(main) != os.path.realpath(self.path):
            raise JobEngineError(
                f"The connection is to {main or 'a database in memory'}, but the engine's jobs are in {self.path}. "
                "A job can only share a transaction with data in the same database."
            )

    def commits_each_statement(self, session: Session) -> bool:
        connection = session.connection
        by_itself = connection.isolation_level is None or getattr(connection, "autocommit", -1) is True
        return by_itself and not connection.in_transaction

    def join(self, session: Session) -> None:
        if not session.connection.in_transaction:  # Python begins at the first write: too late for what is read before
            session.execute(self.begin)

    def before_claim(self, session: Session) -> None:
        session.execute("PRAGMA synchronous = NORMAL")  # the next FULL commit brings the claim to disk as well

    def after_claim(self, session: Session) -> None:
        session.execute("PRAGMA synchronous = FULL")

    # Times are UTC text: sorted as text they are sorted as times, and a person can read them.

    def to_db(self, value: datetime | None) -> Any:
        return None if value is None else utc(value).replace(tzinfo=None).isoformat(" ", "microseconds")

    def from_db(self, value: Any) -> datetime | None:
        return None if value is None else _parsed(value)


@functools.lru_cache(maxsize=4096)  # the jobs of a batch share most of their times
def _parsed(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
