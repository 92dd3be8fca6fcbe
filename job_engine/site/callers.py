"""The caller's own transaction: in a request, a console or a handler, the engine speaks on frappe.db's connection.

What is enqueued, canceled or retried there is true if and only if the caller commits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import frappe

from job_engine.store.connections import Connections
from job_engine.store.dialect import Dialect
from job_engine.store.session import Session

T = TypeVar("T")


class CallersSession(Session):
    """Begins and ends nothing: the transaction is the caller's."""

    __slots__ = ()

    def begin(self, for_claim: bool = False) -> None:
        pass

    def commit(self) -> None:
        pass

    def rollback(self) -> None:
        pass  # whoever catches the error decides, as for every other statement of theirs

    def close(self) -> None:
        pass


class CallersConnections(Connections):
    """No connection of its own. An error is the caller's too: a deadlock has ended their transaction, not ours."""

    def __init__(self, dialect: Dialect):
        super().__init__(dialect)
        self._session: Session | None = None  # on the connection that frappe.db had last

    @contextmanager
    def session(self) -> Iterator[Session]:
        yield self.open()

    def open(self, for_handlers: bool = False) -> Session:
        db = frappe.local.db
        if not db._conn:
            db.connect()
        session = self._session  # once: threads with connections of their own may share this
        if session is None or session.connection is not db._conn:
            # Not as an adopted one: Frappe's connection counts rows as ours do, so that an INSERT need not be read back.
            session = self._session = CallersSession(self._dialect, db._conn)
        return session

    @property
    def seconds_since_trouble(self) -> float:
        return math.inf

    def close(self) -> None:
        pass

    def write(self, work: Callable[[Session], T]) -> T:
        return work(self.open())

    def repeat(self, work: Callable[[Session], T]) -> T:
        return work(self.open())
