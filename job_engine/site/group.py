"""Group commit on frappe.db: the handlers of quick jobs share the site's transaction, each above a savepoint of its own.

A handler may call frappe.db.commit() or rollback() as any Frappe code does. Its finished neighbours are then committed, or
given back, with what it did: effects and completions never part. From then on its type is not grouped with others.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

import frappe

from job_engine.attempt import Attempt
from job_engine.core.errors import GivenBack, JobLeaseLost, LeaseLost
from job_engine.core.job import Job, Outcome
from job_engine.group import Group, _given_back
from job_engine.settings import Settings
from job_engine.site.callers import CallersSession
from job_engine.site.execution import forget_realtime, mark_realtime
from job_engine.site.first_query import on_first_query
from job_engine.store import finishing
from job_engine.store.session import Session
from job_engine.store.sql import SqlStore

log = logging.getLogger("job_engine.group")

SAVEPOINT = "job_engine_attempt"
_QUEUES = ("before_commit", "after_commit", "before_rollback", "after_rollback")


class FrappeSession(CallersSession):
    """The site's transaction, which here is the group's to end: with the callbacks that Frappe ties to it."""

    __slots__ = ()

    def commit(self) -> None:
        """What handlers want to happen afterwards is run apart: an error there must not look like a failed commit."""
        db = frappe.local.db
        frappe.set_user("Administrator")  # not whoever's job happened to be the last
        afterwards = list(db.after_commit._functions)
        db.after_commit.reset()
        db.commit()
        for callback in afterwards:
            try:
                callback()
            except Exception:
                log.exception(
                    "What a job wanted to do after its commit failed", extra={"action": "after_commit_failed"}
                )

    def rollback(self) -> None:
        try:
            frappe.local.db.rollback()
        except Exception:
            _reconnect()


class SiteGroup(Group):
    def __init__(
        self,
        store: SqlStore,
        worker_id: str,
        settings: Settings,
        judge: Callable[[Job, BaseException, float], Outcome],
        on_commit: Callable[[list[Outcome]], None],
    ):
        super().__init__(store, worker_id, settings, judge)
        self._on_commit = on_commit
        self._thread = threading.get_ident()
        self._marks: dict[str, int] = {}  # callbacks that finished neighbours have left in each of Frappe's queues
        self._realtime_mark: int | None = None
        self._ending = False  # it is the group itself that commits or rolls back now
        self._quick: set[str] = set()
        self.committing_types: set[str] = set()  # whose handlers have ended the transaction themselves

    def keeps_alone(self, job: Job) -> bool:
        return super().keeps_alone(job) or job.job_type in self.committing_types

    # Around a handler

    def enter(self, attempt: Attempt) -> None:
        """Every handler of a site may write on frappe.db, without asking: its first statement is preceded by a savepoint."""
        if attempt.job.job_type not in self._quick:
            self.write()  # nobody waits behind a type that is not known to be quick
        self._begun()
        on_first_query(frappe.local.db, lambda: self.session_for(attempt))

    def keep_writes(self) -> None:
        on_first_query(frappe.local.db, None)
        super().keep_writes()

    def end(self, outcome: Outcome) -> None:
        (self._quick.add if outcome.duration < self._settings.group_seconds else self._quick.discard)(outcome.job_type)
        super().end(outcome)

    def _enter(self, attempt: Attempt) -> Session:
        on_first_query(frappe.local.db, None)
        session = super()._enter(attempt)
        self._marks = {queue: len(_callbacks(queue)) for queue in _QUEUES}
        self._realtime_mark = mark_realtime()
        self._listen(attempt)
        return session

    def _begun(self) -> Session:
        db = frappe.local.db
        if not db._conn:
            db.connect()
        if self._session is None or self._session.connection is not db._conn:
            self.store.dialect.prepare_for_handlers(db._conn)
            self._session = FrappeSession(self.store.dialect, db._conn)
        self._open = True
        return self._session

    def undo_writes(self) -> None:
        with self._lock:
            on_first_query(frappe.local.db, None)
            if self._user is None or self._session is None:
                return
            self._user = None
            try:
                if not self._has_savepoint:  # the handler has ended the neighbours' transaction: this one is its own
                    self._rollback()
                    return
                self._session.execute(f"ROLLBACK TO SAVEPOINT {SAVEPOINT}")
                self._session.execute(f"RELEASE SAVEPOINT {SAVEPOINT}")
                self._forget_callbacks()
            except Exception:  # a deadlock or a lost connection has ended the whole transaction
                self._abort(None)

    def _forget_callbacks(self) -> None:
        """What the handler wanted to happen after its commit does not; what it wanted after a rollback does."""
        forget_realtime(self._realtime_mark)
        for queue in _QUEUES:
            callbacks = _callbacks(queue)
            added = [callbacks.pop() for _ in range(len(callbacks) - self._marks.get(queue, 0))]
            if queue.endswith("rollback"):
                for callback in reversed(added):
                    callback()

    # A handler that ends the transaction itself

    def _listen(self, attempt: Attempt) -> None:
        frappe.local.db.before_commit.add(lambda: self._before_commit(attempt))
        frappe.local.db.before_rollback.add(lambda: self._before_rollback(attempt))

    def _before_commit(self, attempt: Attempt) -> None:
        if self._ending or self._user is not attempt:
            return
        session = self._begun()
        try:
            self._check_lease(session, attempt)
            lost = (
                finishing.finish(session, self._worker_id, self._outcomes, self.store.now())
                if self._outcomes
                else set()
            )
            if lost:
                raise LeaseLost("A job of this group was taken from the worker; its writes must not be committed.")
        except BaseException as error:
            self._abort(None)
            attempt.undone = error if isinstance(error, JobLeaseLost) else _undone(error)
            raise attempt.undone from error
        finished, self._outcomes = self._outcomes, []
        self._on_its_own(attempt)
        frappe.local.db.after_commit.add(lambda: self._after_commit(attempt, finished))

    def _check_lease(self, session: Session, attempt: Attempt) -> None:
        """A job that was taken from this worker commits nothing."""
        job = attempt.job
        owned = session.row(
            "SELECT name FROM {job} WHERE name = %s AND attempts = %s AND lease_owner = %s AND status = 'Running'{for_update}",
            (job.name, job.attempts, self._worker_id),
        )
        if owned is None:
            attempt.lost = True
            raise JobLeaseLost()

    def _after_commit(self, attempt: Attempt, finished: list[Outcome]) -> None:
        self._committed(finished)
        if self._user is attempt:
            self._listen(attempt)

    def _before_rollback(self, attempt: Attempt) -> None:
        if self._ending or self._user is not attempt:
            return
        self._outcomes = [_given_back(o) if o.used_connection else o for o in self._outcomes]
        self._on_its_own(attempt)
        frappe.local.db.after_rollback.add(lambda: self._listen(attempt) if self._user is attempt else None)

    def _on_its_own(self, attempt: Attempt) -> None:
        self._has_savepoint = False
        self._marks = {}
        self.committing_types.add(attempt.job.job_type)

    # Ending the transaction

    def write_if_due(self, wait: bool = True) -> None:
        if threading.get_ident() == self._thread:  # the site's connection is not the keeper's to speak on
            super().write_if_due(wait)

    def _write(self) -> None:
        self._ending = True
        try:
            super()._write()
        finally:
            self._ending = False

    def _rollback(self) -> None:
        self._ending = True
        try:
            assert self._session is not None
            self._session.rollback()
        finally:
            self._ending = False

    def _abort(self, error: Exception | None) -> None:
        self._ending = True
        try:
            super()._abort(error)
        finally:
            self._ending = False
            self._has_savepoint = False

    def _committed(self, outcomes: list[Outcome]) -> None:
        self._on_commit(outcomes)


def _callbacks(queue: str) -> deque[Callable[[], None]]:
    functions: deque[Callable[[], None]] = getattr(frappe.local.db, queue)._functions
    return functions


def _undone(error: BaseException) -> BaseException:
    return GivenBack(f"Its writes were rolled back with those of its group: {error}")


def _reconnect() -> None:
    """The connection is broken: its transaction is gone, and the next statement must have a new one."""
    db = frappe.local.db
    for queue in _QUEUES:
        getattr(db, queue).reset()
    try:
        db.close()
    except Exception:
        db._conn = None
