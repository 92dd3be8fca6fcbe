"""The SQL store: connections of its own, and each duty of the port in one line. How each is done stands in its own file."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from job_engine.core.clock import Clock, DatabaseClock
from job_engine.core.errors import JobNotFound, LeaseLost, StoreUnavailable
from job_engine.core.job import Enqueued, Job, Outcome, Transition
from job_engine.core.job_type import Rate
from job_engine.core.states import Status
from job_engine.store import (
    canceling,
    claiming,
    controls,
    dependencies,
    finishing,
    inserting,
    leasing,
    logbook,
    promoting,
    pruning,
    reading,
    rescuing,
    retrying,
    schema,
    stats,
    workers,
)
from job_engine.store.controls import Controls, Key, Limit
from job_engine.store.dialect import Dialect
from job_engine.store.inserting import NewJob
from job_engine.store.leasing import Held
from job_engine.store.reading import Filter
from job_engine.store.session import Session
from job_engine.store.waiting import Waiter, wake_this_process
from job_engine.store.workers import Worker


class SqlStore:
    """Each thread has a connection of its own. A broken one is replaced at the next call."""

    def __init__(self, dialect: Dialect, clock: Clock | None = None, lease_seconds: float = 60.0):
        self.dialect = dialect
        self.lease_seconds = lease_seconds
        self.now: Clock = clock or DatabaseClock(self._database_time)
        self.code_limits: Callable[[], Mapping[Key, Limit]] = dict
        self._threads = threading.local()
        self._cursors: dict[str, claiming.Cursor] = {}

    # Connections ---------------------------------------------------------------------------------------------------

    @contextmanager
    def session(self) -> Iterator[Session]:
        """This thread's connection, outside a transaction."""
        session: Session | None = getattr(self._threads, "session", None)
        if session is None:
            session = self._threads.session = self.open_session()
        try:
            yield session
        except StoreUnavailable:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        with self.session() as session, session.transaction():
            yield session

    def open_session(self) -> Session:
        try:
            return Session(self.dialect, self.dialect.connect())
        except Exception as error:
            if self.dialect.is_disconnect(error):
                raise StoreUnavailable(f"The {self.dialect.name} database cannot be reached: {error}") from error
            raise

    def close(self) -> None:
        """Close this thread's connection."""
        session: Session | None = getattr(self._threads, "session", None)
        if session is not None:
            session.close()
            self._threads.session = None

    def create_tables(self) -> None:
        with self.session() as session:
            if session.dialect.has_table(session, "meta"):
                schema.check(session)
            with session.transaction():
                schema.create(session)

    def waiter(self) -> Waiter:
        return self.dialect.waiter()

    # Enqueue -------------------------------------------------------------------------------------------------------

    def insert(self, new: Sequence[NewJob]) -> list[Enqueued]:
        with self.transaction() as session:
            answers = inserting.insert(session, new, self.now())
        wake_this_process(self.dialect.address)
        return answers

    def insert_on(self, session: Session, new: Sequence[NewJob]) -> list[Enqueued]:
        """Insert within a transaction that belongs to somebody else."""
        return inserting.insert(session, new, self.now())

    # Claim and hold ------------------------------------------------------------------------------------------------

    def claim_batch(self, worker_id: str, limit: int, queues: tuple[str, ...] | None = None) -> list[Job]:
        cursor = self._cursors.setdefault(worker_id, claiming.Cursor(random.Random(worker_id)))
        with self.session() as session:
            return claiming.claim_batch(
                session, worker_id, limit, self.now(), self.lease_seconds, queues, self.code_limits(), cursor
            )

    def heartbeat(self, worker_id: str, names: Sequence[str]) -> list[Held]:
        with self.session() as session:
            return leasing.heartbeat(session, worker_id, names, self.now(), self.lease_seconds) if names else []

    def held(self, worker_id: str, names: Sequence[str] | None = None) -> list[Held]:
        with self.session() as session:
            return leasing.held(session, worker_id, names)

    def save_progress(self, name: str, worker_id: str, attempt: int, progress: float, message: str | None) -> None:
        with self.transaction() as session:
            leasing.save_progress(session, name, worker_id, attempt, progress, message)

    def save_checkpoint(self, name: str, worker_id: str, attempt: int, checkpoint: str) -> None:
        with self.transaction() as session:
            leasing.save_checkpoint(session, name, worker_id, attempt, checkpoint)

    # End attempts --------------------------------------------------------------------------------------------------

    def finish(self, worker_id: str, outcomes: Sequence[Outcome]) -> set[str]:
        """Write what became of these attempts. Returns the names of those that this worker no longer owned."""
        with self.transaction() as session:
            return finishing.finish(session, worker_id, outcomes, self.now())

    def mark_success(self, name: str, worker_id: str, attempt: int, result: str | None = None) -> None:
        self._finish_one(worker_id, name, attempt, Status.COMPLETED, result=result)

    def mark_retry(self, name: str, worker_id: str, attempt: int, run_after: datetime, error: str) -> None:
        self._finish_one(
            worker_id, name, attempt, Status.FAILED, run_after=run_after, error=error, error_type="Transient"
        )

    def mark_failed(self, name: str, worker_id: str, attempt: int, error: str) -> None:
        self._finish_one(worker_id, name, attempt, Status.DEAD_LETTER, error=error, error_type="Permanent")

    def release(self, name: str, worker_id: str, attempt: int) -> None:
        self._finish_one(worker_id, name, attempt, Status.QUEUED, give_back=True, reason="released")

    def _finish_one(self, worker_id: str, name: str, attempt: int, status: Status, **details: Any) -> None:
        with self.transaction() as session:
            row = session.row("SELECT job_type, organization FROM {job} WHERE name = %s", (name,))
            if row is None:
                raise JobNotFound(f"There is no job {name}.", name=name)
            outcome = Outcome(name, attempt, status, job_type=row[0], organization=row[1], **details)
            if finishing.finish(session, worker_id, [outcome], self.now()):
                raise LeaseLost(
                    f"Job {name} no longer belongs to {worker_id} (attempt {attempt}). Nothing was written.",
                    name=name,
                    attempt=attempt,
                )

    def end_lost_attempt(self, name: str, worker_id: str, attempt: int) -> bool:
        with self.transaction() as session:
            return rescuing.end_lost_attempt(session, name, worker_id, attempt, self.now())

    # The tick's duties ---------------------------------------------------------------------------------------------

    def promote(self) -> int:
        return self._in_batches(lambda s: promoting.promote_due(s, self.now()), promoting.BATCH)

    def rescue(self) -> int:
        return self._in_batches(lambda s: rescuing.rescue(s, self.now()), rescuing.BATCH)

    def prune(self, status: Status, ended_before: datetime, progress: Callable[[int], None] = lambda n: None) -> int:
        def one(session: Session) -> int:
            n = pruning.prune(session, status, ended_before, self.now())
            progress(n)
            return n

        return self._in_batches(one, 1)

    def prunable(self, status: Status, ended_before: datetime) -> int:
        with self.session() as session:
            return pruning.prunable(session, status, ended_before)

    def compact_stats(self) -> int:
        with self.session() as session:
            workers.forget_silent(session, self.now())
            return stats.compact(session, self.now())

    def next_due(self) -> datetime | None:
        with self.session() as session:
            return promoting.next_due(session)

    def _in_batches(self, work: Callable[[Session], int], full: int) -> int:
        total = 0
        while True:
            with self.session() as session:
                n = work(session)
            total += n
            if n < full:
                return total

    # By hand -------------------------------------------------------------------------------------------------------

    def cancel(self, name: str, by: str | None = None, reason: str | None = None) -> Status:
        with self.transaction() as session:
            return canceling.cancel(session, name, by, reason, self.now())

    def retry(self, name: str, by: str | None = None, run_after: datetime | None = None) -> Status:
        with self.transaction() as session:
            now = self.now()
            status = retrying.retry(session, name, by, run_after or now, now)
        wake_this_process(self.dialect.address)
        return status

    def pause(self, scope: str, target: str, by: str | None = None, reason: str | None = None) -> None:
        with self.transaction() as session:
            controls.pause(session, scope, target, by, reason, self.now())

    def resume(self, scope: str, target: str) -> bool:
        with self.transaction() as session:
            resumed = controls.resume(session, scope, target)
            if resumed:
                self.dialect.announce(session, [""])
        wake_this_process(self.dialect.address)
        return resumed

    def limit(self, scope: str, target: str, concurrency: int | None, rate: Rate | None) -> None:
        with self.transaction() as session:
            controls.limit(session, scope, target, concurrency, rate)

    # Look ----------------------------------------------------------------------------------------------------------

    def get(self, name: str) -> Job | None:
        with self.session() as session:
            return reading.get(session, name)

    def find(self, which: Filter, limit: int, after: str | None = None) -> list[Job]:
        with self.session() as session:
            return reading.find(session, which, limit, after)

    def count(self, which: Filter) -> int:
        with self.session() as session:
            return reading.count(session, which)

    def count_by(self, which: Filter, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        with self.session() as session:
            return reading.count_by(session, which, columns)

    def history(self, job: Job) -> list[Transition]:
        with self.session() as session:
            return logbook.history(session, job)

    def parents_of(self, name: str) -> list[tuple[str, Status]]:
        with self.session() as session:
            return dependencies.parents_of(session, name)

    def dependents_of(self, name: str) -> list[str]:
        with self.session() as session:
            return dependencies.dependents_of(session, [name])

    def controls(self) -> Controls:
        with self.session() as session:
            return controls.read(session, self.code_limits())

    # Workers -------------------------------------------------------------------------------------------------------

    def sign_in(self, worker: Worker) -> None:
        with self.transaction() as session:
            workers.sign_in(session, worker)

    def seen(self, worker_id: str) -> None:
        with self.session() as session:
            workers.seen(session, worker_id, self.now())

    def sign_out(self, worker_id: str) -> None:
        self._cursors.pop(worker_id, None)
        with self.session() as session:
            workers.sign_out(session, worker_id)

    def workers(self) -> list[Worker]:
        with self.session() as session:
            return workers.alive(session, self.now())

    def _database_time(self) -> datetime:
        with self.session() as session:
            at = self.dialect.from_db(session.value(self.dialect.now))
            assert at is not None
            return at
