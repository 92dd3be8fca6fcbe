"""Group commit: quick jobs that finished share one transaction with the writes their handlers made.

The transaction is begun when a handler first asks for the connection, or else when the group is written. A crash rolls the
group back as a whole, effects and completions together, and its jobs run again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from job_engine.attempt import Attempt
from job_engine.core.errors import GivenBack, LeaseLost, StoreUnavailable
from job_engine.core.job import Job, Outcome
from job_engine.core.undone import given_back, unwritable
from job_engine.courier import Courier, tell_lost
from job_engine.settings import Settings
from job_engine.store import finishing, leasing
from job_engine.store.session import Session
from job_engine.store.sql import SqlStore

log = logging.getLogger("job_engine.group")

_TRIES = 5
_LONG_SECONDS, _GAP_SECONDS = 0.01, 0.003  # where there is one writer, after a long turn let others have theirs
Judge = Callable[[Job, BaseException, float], Outcome]
_SAVEPOINT = "job_engine_attempt"


class Group:
    def __init__(self, store: SqlStore, worker_id: str, settings: Settings, judge: Judge):
        self.store = store
        self.alone: set[str] = set()  # jobs that must not share a transaction: one of them spoiled it for the others
        self._judge = judge
        self._worker_id = worker_id
        self._settings = settings
        # The runner fills the group; the keeper may write it while a slow job runs, the courier while the next is claimed.
        self._lock = threading.RLock()
        self._outcomes: list[Outcome] = []
        self._since = 0.0
        self._session: Session | None = None
        self._open = False  # a transaction is open
        self._began = 0.0
        self._courier = Courier(store, worker_id)
        self._user: Attempt | None = None  # the attempt whose handler has the connection now
        self._has_savepoint = False  # under that handler's writes; without one, the transaction is its own

    def keeps_alone(self, job: Job) -> bool:
        """Whether the job must be committed apart from others."""
        return job.name in self.alone

    # The handler's connection

    def enter(self, attempt: Attempt) -> None:
        """A handler is about to start. Here nothing is begun before it asks for the connection."""

    def session_for(self, attempt: Attempt) -> Session:
        """The group's connection, in a transaction, with a savepoint under the handler's writes."""
        with self._lock:
            if self._user is attempt:
                assert self._session is not None
                return self._session
            try:
                return self._enter(attempt)
            except StoreUnavailable:  # the connection has died since it was last used
                self._abort(None)
                return self._enter(attempt)

    def _enter(self, attempt: Attempt) -> Session:
        session = self._begun()
        session.execute(f"SAVEPOINT {_SAVEPOINT}")
        self._user, self._has_savepoint = attempt, True
        attempt.uses_connection = True
        return session

    def keep_writes(self) -> None:
        """The handler returned: its writes stay in the group, which is busy until `end` adds the outcome to them."""
        with self._lock:
            if self._user is not None and self._session is not None and self._has_savepoint:
                self._session.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")
                self._has_savepoint = False

    def undo_writes(self) -> None:
        """The handler raised: its writes go, its neighbours' stay, if the database still has them."""
        with self._lock:
            if self._user is None or self._session is None:
                return
            self._user = None
            try:
                if self._has_savepoint:
                    self._session.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
                    self._session.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")
                elif not self._open:  # begun by the driver, after a checkpoint
                    self._session.rollback()
            except Exception:  # a deadlock or a lost connection has ended the whole transaction
                self._abort(None)

    def save_checkpoint(self, attempt: Attempt, checkpoint: str) -> None:
        """Commit the checkpoint, together with what the handler has written so far and the finished neighbours."""
        job = attempt.job
        with self._lock:
            if self._user is not attempt or self._session is None:
                self.write()  # the finished neighbours' transaction may hold locks that the checkpoint would wait for
                self.store.save_checkpoint(job.name, self._worker_id, job.attempts, checkpoint)
                return
            leasing.save_checkpoint(self._begun(), job.name, self._worker_id, job.attempts, checkpoint)
            neighbours = {o.name for o in self._outcomes if o.used_connection}
            try:
                self.keep_writes()
                self._write()
            except BaseException as error:
                self._abort(None)
                attempt.undone = self._undoing(job, neighbours, error)
                raise attempt.undone from error
            self._user = attempt  # which may still hold the connection, or a cursor of it
            if not self.store.dialect.begins_by_itself:
                self._enter(attempt)

    def _undoing(self, job: Job, neighbours: set[str], error: BaseException) -> BaseException:
        """What ends an attempt whose checkpoint could not be committed: its own error, unless neighbours may be to blame."""
        if not neighbours:
            return error
        if not isinstance(error, (LeaseLost, StoreUnavailable)) and not self.store.dialect.is_conflict(error):
            self.alone |= {job.name, *neighbours}
        return GivenBack("Its writes were rolled back with those of its group.")

    # Finished attempts

    def end(self, outcome: Outcome) -> None:
        """The outcome of the attempt that had the connection, if any: from now on both are committed together."""
        with self._lock:
            self._append(outcome)
            self._user = None

    def add(self, outcome: Outcome) -> None:
        """An outcome that has nothing to do with whoever has the connection."""
        with self._lock:
            self._append(outcome)

    def _append(self, outcome: Outcome) -> None:
        if not self._outcomes:
            self._since = time.monotonic()
        self._outcomes.append(outcome)

    @property
    def is_due(self) -> bool:
        waiting = len(self._outcomes)
        if waiting and (
            waiting >= self._settings.group_jobs or time.monotonic() - self._since >= self._settings.group_seconds
        ):
            return True
        return self._courier.has_failed

    @property
    def is_busy(self) -> bool:
        """A handler has the connection: the group cannot be written before it returns."""
        return self._user is not None

    def hand_over(self) -> None:
        """Commit what is finished in another thread while this one goes on: the database and Python work side by side.

        Not where a handler's writes are part of it, nor where only one can write at a time, nor after it has failed.
        """
        with self._lock:
            if self._open or self.store.dialect.one_writer or self._courier.has_failed:
                self.write()
                return
            if not self._outcomes:
                return  # nothing to hand over: no reason to wait for the last one
            self._arrive()
            outcomes, self._outcomes = self._outcomes, []
            self._courier.take(outcomes)

    def _arrive(self) -> None:
        self._outcomes = self._courier.arrive() + self._outcomes

    @property
    def has_returned(self) -> bool:
        """Something is finished that is not even on its way."""
        return bool(self._outcomes) or self._courier.has_failed

    @property
    def has_unwritten(self) -> bool:
        """Something is finished that the database may not know of yet."""
        return self._courier.is_away or bool(self._outcomes)

    def write(self) -> None:
        """Commit what is finished. Raises StoreUnavailable, keeping what can be written later."""
        with self._lock:
            self._arrive()
            for _ in range(_TRIES):
                try:
                    self._write()
                    return
                except StoreUnavailable:
                    self._abort(None)
                    raise
                except Exception as error:
                    dialect = self.store.dialect
                    innocent = (
                        isinstance(error, LeaseLost) or dialect.is_conflict(error) or dialect.is_disconnect(error)
                    )
                    self._abort(None if innocent else error)
                    log.warning("A group of finished jobs could not be written and is tried again", exc_info=True)
                except BaseException:  # Ctrl-C in the middle of it: half a write must not be committed later
                    self._abort(None)
                    raise
            self._write_one_by_one()

    def write_if_due(self, wait: bool = True) -> None:
        """`wait`: also when another thread is writing just now. The keeper has leases to extend and does not."""
        if self.is_due and not self.is_busy and self._lock.acquire(blocking=wait):
            try:
                if self.is_due and not self.is_busy and (wait or self._courier.has_arrived):
                    self.hand_over()
            finally:
                self._lock.release()

    @property
    def holds_the_only_writer(self) -> bool:
        """Nobody else can write before this group is committed: that a second connection cannot is no outage."""
        return self._open and self.store.dialect.one_writer

    def close(self) -> None:
        with self._lock:
            self._courier.close()
            if self._session is not None:
                self._session.rollback()
                self._session.close()
            self._session, self._open, self._outcomes = None, False, []

    def _begun(self) -> Session:
        if self._session is None:
            self._session = self.store.connections.open(for_handlers=True)
        if not self._open:
            if not self.store.dialect.in_transaction(self._session.connection):  # the driver may have begun one
                self._session.begin()
            self._open = True
            self._began = time.monotonic()
        return self._session

    def _write(self) -> None:
        if not self._outcomes and not self._open:
            return
        session = self._begun()
        lost = finishing.finish(session, self._worker_id, self._outcomes, self.store.now()) if self._outcomes else set()
        if any(o.used_connection and o.name in lost for o in self._outcomes):
            self._outcomes = [o for o in self._outcomes if o.name not in lost]
            raise LeaseLost("A job of this group was taken from the worker; its writes must not be committed.")
        session.commit()
        self._open = False
        if self.store.dialect.one_writer and (self._user or time.monotonic() - self._began > _LONG_SECONDS):
            time.sleep(_GAP_SECONDS)  # a handler that goes on writing counts as long: its driver has begun, not we
        self.alone.difference_update(o.name for o in self._outcomes if not o.give_back)
        written, self._outcomes = [o for o in self._outcomes if o.name not in lost], []
        tell_lost(lost)
        self._committed(written)

    def _committed(self, outcomes: list[Outcome]) -> None:
        """These are now true. Not called for what the courier carries."""

    def _write_one_by_one(self) -> None:
        """One of them cannot be written as it is. It ends in Dead Letter, and the others are none the worse for it."""
        while self._outcomes:
            outcome = self._outcomes[0]
            try:
                self.store.finish(self._worker_id, [outcome])
            except StoreUnavailable:
                raise
            except Exception as error:
                log.exception("The outcome of job %s could not be written", outcome.name, extra={"job": outcome.name})
                self.store.finish(self._worker_id, [unwritable(outcome, error)])
            self._outcomes.pop(0)

    def _abort(self, error: Exception | None) -> None:
        """The transaction is gone. Jobs whose writes went with it are given back; the others' outcomes are still true.

        With `error`, one of those jobs has written what the database refuses to commit. Each of them will be committed alone,
        and the one that fails alone is the one to blame.
        """
        session, self._session, self._open, self._user = self._session, None, False, None
        if session is not None:
            session.rollback()
            session.close()
        before = self._outcomes
        self._outcomes = [given_back(o) if o.used_connection else o for o in before]
        wrote = [o for o in before if o.used_connection]
        if error is not None and len(wrote) == 1:
            blamed = self._blamed(wrote[0], error)
            self._outcomes = [blamed if o.name == blamed.name else o for o in self._outcomes]
        elif error is not None:
            self.alone.update(o.name for o in wrote)

    def _blamed(self, outcome: Outcome, error: Exception) -> Outcome:
        job = self.store.get(outcome.name)
        return unwritable(outcome, error) if job is None else self._judge(job, error, outcome.duration)
