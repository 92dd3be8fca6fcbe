"""The store's own connections: one for each thread, replaced when broken, never shared with a forked child."""

from __future__ import annotations

import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from job_engine.core.errors import StoreUnavailable
from job_engine.store.dialect import Dialect
from job_engine.store.session import Session

T = TypeVar("T")

_TRIES = 8


class Connections:
    def __init__(self, dialect: Dialect):
        self._dialect = dialect
        self._threads = threading.local()
        self._trouble_at = -math.inf

    @contextmanager
    def session(self) -> Iterator[Session]:
        """This thread's connection, outside a transaction."""
        session: Session | None = getattr(self._threads, "session", None)
        if session is None or self._threads.pid != os.getpid():  # a forked child must not speak on its parent's
            session = self._threads.session = self.open()
            self._threads.pid = os.getpid()
        try:
            yield session
        except StoreUnavailable:
            self.note_trouble()
            self.close()
            raise

    @property
    def seconds_since_trouble(self) -> float:
        """How long ago the database was last seen to be away, or to keep everybody waiting."""
        return time.monotonic() - self._trouble_at

    def note_trouble(self) -> None:
        self._trouble_at = time.monotonic()

    def is_reachable(self) -> bool:
        """Whether a new connection could write now."""
        try:
            session = self.open()
        except StoreUnavailable:
            return False
        try:
            with session.transaction():
                return True
        except StoreUnavailable:
            return False
        finally:
            session.close()

    def open(self, for_handlers: bool = False) -> Session:
        """A connection for the caller alone."""
        dialect = self._dialect
        if for_handlers:
            session = self.translated(lambda: Session(dialect, dialect.connect()))
            dialect.prepare_for_handlers(session.connection)
        else:
            ours = self.translated(dialect.connect_for_ourselves)
            session = Session(dialect, ours, posts=dialect.takes_several)
            dialect.set_up(session)
        return session

    def translated(self, connect: Callable[[], T]) -> T:
        """Do something that connects, and say in our own words when that is not possible now."""
        try:
            return connect()
        except Exception as error:
            if self._dialect.is_disconnect(error):
                self.note_trouble()
                hint = " Check the user and the password in the URL." if _is_refusal(error) else ""
                raise StoreUnavailable(f"The {self._dialect.name} database cannot be reached: {error}{hint}") from error
            raise

    def close(self) -> None:
        """Close this thread's connection."""
        session: Session | None = getattr(self._threads, "session", None)
        if session is not None:
            if self._threads.pid == os.getpid():
                session.close()
            self._threads.session = None

    def read(self, work: Callable[[Session], T]) -> T:
        with self.session() as session:
            return work(session)

    def write(self, work: Callable[[Session], T]) -> T:
        """Do the work in a transaction of its own."""

        def in_transaction(session: Session) -> T:
            with session.transaction():
                return work(session)

        return self.repeat(in_transaction)

    def repeat(self, work: Callable[[Session], T]) -> T:
        """Do work that makes its own transactions, again when the database chose it as the victim of a deadlock."""
        for attempt in range(_TRIES):
            try:
                with self.session() as session:
                    return work(session)
            except Exception as error:
                if attempt == _TRIES - 1 or not self._dialect.is_conflict(error):
                    raise
                time.sleep(random.uniform(0, 0.01 * 2**attempt))
        raise AssertionError("unreachable")


def _is_refusal(error: Exception) -> bool:
    """Whether the server was there and did not let us in. By its words: the drivers have no code for it in common."""
    return any(sign in str(error) for sign in ("authentication failed", "Access denied"))
