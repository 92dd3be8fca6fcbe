"""Group commit on frappe.db: the handlers of quick jobs share the site's transaction, each above a savepoint of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import frappe

from job_engine.attempt import Attempt
from job_engine.core.errors import GivenBack, JobEngineError, TransientError
from job_engine.core.job import Job, Outcome
from job_engine.settings import Settings
from job_engine.site import callbacks, tenancy
from job_engine.site.around import Around
from job_engine.site.callers import CallersSession
from job_engine.site.execution import Desk
from job_engine.site.first_query import on_first_query
from job_engine.site.own_endings import OwnEndings
from job_engine.site.statements import before_the_end
from job_engine.store.session import Session
from job_engine.store.sql import SqlStore

SAVEPOINT = "job_engine_attempt"


class TransactionLost(TransientError):
    """The handler's transaction had ended before the handler did."""


class FrappeSession(CallersSession):
    """The site's transaction, which here is the group's to end: with the callbacks that Frappe ties to it."""

    __slots__ = ()

    def commit(self) -> None:
        """What handlers want to happen afterwards is run apart: an error there must not look like a failed commit."""
        db = frappe.local.db
        db.before_commit.run()  # which may want something afterwards as well
        afterwards = list(db.after_commit._functions)
        db.after_commit.reset()
        db.commit()
        for callback in afterwards:
            callbacks.harmless(callback)()

    def rollback(self) -> None:
        try:
            frappe.local.db.rollback()
        except Exception:
            _hang_up()

    def close(self) -> None:
        """frappe.db's own connection is not ours to close, unless somebody has put another in its place."""
        if self.connection is not frappe.local.db._conn:
            with suppress(Exception):
                self.connection.close()


class SiteGroup(OwnEndings):
    def __init__(
        self,
        store: SqlStore,
        worker_id: str,
        settings: Settings,
        judge: Callable[[Job, BaseException, float], Outcome],
        desk: Desk,
        around: Around,
        on_commit: Callable[[list[Outcome]], None],
    ):
        super().__init__(store, worker_id, settings, judge)
        self._desk = desk
        self._around = around
        self._on_commit = on_commit
        self._thread = threading.get_ident()
        self._db: Any = frappe.local.db  # of the handler that runs now
        self._is_new = False  # the transaction: nothing was read or written in it
        self._quick: set[str] = set()

    def keeps_alone(self, job: Job) -> bool:
        return super().keeps_alone(job) or self._around.follows

    # Around a handler

    def enter(self, attempt: Attempt) -> None:
        """Every handler of a site may write on frappe.db, without asking: its first statement is preceded by a savepoint."""
        if attempt.job.job_type not in self._quick:
            self.write()  # nobody waits behind a type that is not known to be quick
        self._db = frappe.local.db
        if self._db._conn:  # otherwise there is nothing yet: the first statement connects
            if not self._open and not self._is_new:
                # What this process has looked at before the claim must not be the picture that the handler gets: the
                # document that was committed with its job would not be there.
                self._begun()
                self._rollback()
            self._begun()
        self._attend(attempt)
        on_first_query(self._db, lambda: self.session_for(attempt))

    def _attend(self, attempt: Attempt) -> None:
        """From now on what happens on frappe.db is this handler's doing."""
        self._running = attempt
        self._handler_is_ending = False
        self._listen(attempt)
        self._marks = callbacks.mark()
        frappe.local.db.transaction_writes = 0  # Frappe counts them against whoever changes a table afterwards

    def keep_writes(self) -> None:
        on_first_query(frappe.local.db, None)
        self._check_connection()
        try:
            super().keep_writes()
        except Exception as error:
            raise TransactionLost(
                "The handler's transaction had ended before the handler did, and with it what it had written. Either it has"
                f" caught the error of a deadlock, or it has ended the transaction on a cursor of its own. ({error})"
            ) from error
        self._doubt_no_more()

    def end(self, outcome: Outcome) -> None:
        (self._quick.add if outcome.duration < self._settings.group_seconds else self._quick.discard)(outcome.job_type)
        if self._running is not None:  # it has succeeded
            if callbacks.are_left(self._marks):
                callbacks.keep(self._marks)
                self._desk.lay_for("Administrator")  # what is theirs must not be found by others
                outcome = outcome.evolve(
                    used_connection=True
                )  # a rollback would drop them, as it drops what was written
            self._running = None
        super().end(outcome)

    def session_for(self, attempt: Attempt) -> Session:
        before = frappe.local.db._conn
        session = super().session_for(attempt)
        if (
            before and session.connection is not before
        ):  # that one had died, and it is the one that has the handler's cursor
            attempt.undone = GivenBack("The connection to the database was lost before the handler had used it.")
            raise attempt.undone
        return session

    def _enter(self, attempt: Attempt) -> Session:
        on_first_query(frappe.local.db, None)
        return super()._enter(attempt)

    def _begun(self) -> Session:
        db = frappe.local.db
        if not db._conn:
            self.store.connections.translated(db.connect)
        if self._session is None or self._session.connection is not db._conn:
            if self._open or (self._running is not None and db is not self._db):
                raise JobEngineError(
                    "A handler has closed or replaced the connection of frappe.db, and with it the transaction that its"
                    " writes and its completion share. Remove the call of frappe.db.close(), frappe.connect() or frappe.init()."
                )
            self.store.dialect.prepare_for_handlers(db._conn)
            self._session = FrappeSession(self.store.dialect, db._conn)
            before_the_end(db, self._before_the_end)
        self._open = True
        return self._session

    def _check_connection(self) -> None:
        """Whether the transaction can still be the group's."""
        session = self._begun()
        attempt = self._running
        if attempt is None or attempt.interruption is None:
            return
        # The handler went on after it was interrupted. If that was between a question and its answer, each answer is now
        # taken for that of the next question.
        if session.row("SELECT %s", (attempt.job.name,)) != (attempt.job.name,):
            raise attempt.interruption

    def undo_writes(self) -> None:
        with self._lock:
            on_first_query(frappe.local.db, None)
            attempt = self._running
            if attempt is None:
                return
            try:
                session = self._session or self._begun()
                self._running = self._user = None
                self._undo(attempt, session)
            except Exception:  # a deadlock or a lost connection has ended the whole transaction
                self._abort(None)
                if frappe.local.db is not self._db:
                    _hang_up()
            finally:
                self._running = self._user = None
                self._desk.lay_for("Administrator")

    def _undo(self, attempt: Attempt, session: Session) -> None:
        self._doubt_no_more()
        if attempt.interruption is not None:
            self._end_connection(session)
            self._abort(None)
        elif attempt.undone is not None or session.connection is not frappe.local.db._conn:
            self._abort(None)
        elif not attempt.uses_connection:
            callbacks.forget(self._marks)
        elif not self._has_savepoint:  # the handler has ended the neighbours' transaction: this one is its own
            self._rollback()
        else:
            session.execute(f"ROLLBACK TO SAVEPOINT {SAVEPOINT}")
            session.execute(f"RELEASE SAVEPOINT {SAVEPOINT}")
            callbacks.forget(self._marks)

    def _end_connection(self, session: Session) -> None:
        """After an interruption nobody knows what the server is doing and which of its answers is still to come."""
        _hang_up()
        number = getattr(session.connection, "thread_id", None)
        if (
            number is not None
        ):  # MariaDB goes on with the statement, and keeps its locks, though nobody listens any more
            with suppress(Exception), self.store.session() as other:
                other.execute(f"KILL {int(number())}")

    def save_checkpoint(self, attempt: Attempt, checkpoint: str) -> None:
        self.session_for(attempt)
        try:
            super().save_checkpoint(attempt, checkpoint)
        finally:
            self._attend(attempt)

    # Ending the transaction

    def write_if_due(self, wait: bool = True) -> None:
        if threading.get_ident() == self._thread:  # the site's connection is not the keeper's to speak on
            super().write_if_due(wait)

    def _write(self) -> None:
        if not self._open and not self._outcomes:
            return
        self._ending = True
        try:
            super()._write()
        finally:
            self._ending = False
        if self._running is None and frappe.local.db.db_type != "postgres":
            self._is_new = True
            on_first_query(frappe.local.db, self._used)

    def _used(self) -> None:
        self._is_new = False

    def _rollback(self) -> None:
        self._ending = True
        try:
            assert self._session is not None
            self._session.rollback()
            self._open = False
        finally:
            self._ending = False

    def _abort(self, error: Exception | None) -> None:
        self._ending = True
        self._doubt_no_more()
        try:
            super()._abort(error)
        finally:
            self._ending = False
            self._has_savepoint = False

    def _committed(self, outcomes: list[Outcome]) -> None:
        self._on_commit(outcomes)

    def close(self) -> None:
        before_the_end(frappe.local.db, None)
        super().close()


def _hang_up() -> None:
    """The connection cannot be used any more: its transaction is gone, and the next statement must have a new one."""
    db = frappe.local.db
    wanted = callbacks.reset()
    try:
        db.close()
    except Exception:
        db._conn = None
    tenancy.forget()
    for callback in wanted:
        callbacks.harmless(callback)()
