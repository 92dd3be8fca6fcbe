"""A handler may call frappe.db.commit() or rollback() as any Frappe code does, though the transaction is not its own.

Its finished neighbours are then committed, or given back, with what it did: effects and completions never part. From then on
its type is not grouped with others.
"""

from __future__ import annotations

from typing import Any

import frappe

from job_engine.attempt import Attempt
from job_engine.core.errors import GivenBack, JobLeaseLost, LeaseLost
from job_engine.core.job import Job, Outcome
from job_engine.core.undone import given_back
from job_engine.group import Group
from job_engine.site import callbacks
from job_engine.site.callbacks import Marks
from job_engine.site.first_query import on_first_query
from job_engine.store import finishing
from job_engine.store.session import Session


class OwnEndings(Group):
    """A group on frappe.db that notices when a handler ends the transaction."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._running: Attempt | None = None  # whose handler runs now, whether it has sent a statement or not
        self._marks: Marks = {}
        self._ending = False  # it is the group itself that commits or rolls back now
        self._handler_is_ending = False  # the running handler is about to, and has told us
        self._in_doubt: list[Outcome] = []  # written into a handler's own commit, of which nothing was heard yet
        self.committing_types: set[str] = set()  # whose handlers have ended the transaction themselves

    def keeps_alone(self, job: Job) -> bool:
        return super().keeps_alone(job) or job.job_type in self.committing_types

    def _listen(self, attempt: Attempt) -> None:
        frappe.local.db.before_commit.add(lambda: self._before_commit(attempt))
        frappe.local.db.before_rollback.add(lambda: self._before_rollback(attempt))

    def _before_the_end(self, statement: str) -> None:
        """A statement is about to end the transaction: let it happen as if the handler had called frappe.db for it."""
        if self._running is None or self._ending or self._handler_is_ending:
            return
        db = frappe.local.db
        if statement == "rollback":
            db.rollback()
        elif statement == "commit" or not db.transaction_writes:  # Frappe refuses others where the handler has written
            db.commit()

    def _before_commit(self, attempt: Attempt) -> None:
        if self._ending or self._running is not attempt:
            return
        if attempt.undone is not None:
            self._listen(attempt)
            raise attempt.undone
        on_first_query(frappe.local.db, None)
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
            self._listen(attempt)
            raise attempt.undone from error
        self._in_doubt, self._outcomes = self._outcomes, []
        self._on_its_own(attempt)
        frappe.local.db.after_commit._functions.appendleft(lambda: self._after_commit(attempt))  # whatever fails there

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

    def _after_commit(self, attempt: Attempt) -> None:
        finished, self._in_doubt = self._in_doubt, []
        self._handler_is_ending = False
        self._listen(attempt)
        callbacks.harmless(lambda: self._committed(finished))()

    def _before_rollback(self, attempt: Attempt) -> None:
        if self._ending or self._running is not attempt:
            return
        on_first_query(frappe.local.db, None)
        self._doubt_no_more()
        self._outcomes = [given_back(o) if o.used_connection else o for o in self._outcomes]
        self._on_its_own(attempt)
        frappe.local.db.after_rollback._functions.appendleft(lambda: self._after_rollback(attempt))

    def _after_rollback(self, attempt: Attempt) -> None:
        self._handler_is_ending = False
        self._listen(attempt)

    def _on_its_own(self, attempt: Attempt) -> None:
        self._handler_is_ending = True
        self._user, self._has_savepoint = attempt, False
        attempt.uses_connection = True
        self._marks = {}
        self.committing_types.add(attempt.job.job_type)

    def _doubt_no_more(self) -> None:
        """A commit that was begun and not heard of: should its jobs still be ours, their writes were rolled back."""
        doubtful, self._in_doubt = self._in_doubt, []
        self._outcomes = [given_back(o) if o.used_connection else o for o in doubtful] + self._outcomes


def _undone(error: BaseException) -> BaseException:
    return GivenBack(f"Its writes were rolled back with those of its group: {error}")
