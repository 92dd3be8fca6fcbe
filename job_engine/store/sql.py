"""The SQL store: connections of its own, and each duty of the port in one line. How each is done stands in its own file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from job_engine.core import canonical
from job_engine.core.clock import Clock, DatabaseClock
from job_engine.core.error_text import clean
from job_engine.core.errors import JobNotFound, LeaseLost
from job_engine.core.job import Job, Outcome, Transition
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
from job_engine.store.adopting import joined
from job_engine.store.connections import Connections
from job_engine.store.controls import Controls, Key, Limit
from job_engine.store.dialect import Dialect
from job_engine.store.inserting import NewJob
from job_engine.store.leasing import Held
from job_engine.store.port import Store
from job_engine.store.reading import Filter
from job_engine.store.session import Session
from job_engine.store.waiting import Waiter, wake_this_process
from job_engine.store.workers import Worker

T = TypeVar("T")

LONG_WAIT_SECONDS = 1.0  # for the beginning of a transaction: longer, and nobody else could write either


class SqlStore(Store):
    def __init__(
        self,
        dialect: Dialect,
        clock: Clock | None = None,
        lease_seconds: float = 60.0,
        connections: Connections | None = None,
    ):
        self.dialect = dialect
        self.lease_seconds = lease_seconds
        self.connections = connections or Connections(dialect)
        self.now: Clock = clock or DatabaseClock(self._database_time)
        self.code_limits: Callable[[], Mapping[Key, Limit]] = dict
        self._cursors: dict[str, claiming.Cursor] = {}

    @contextmanager
    def session(self) -> Iterator[Session]:
        """This thread's connection, outside a transaction."""
        with self.connections.session() as session:
            yield session

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A transaction on this thread's connection."""
        with self.connections.session() as session, session.transaction():
            yield session

    def create_tables(self) -> None:
        self.connections.read(schema.create)

    def close(self) -> None:
        """Close this thread's connection."""
        self.connections.close()

    def waiter(self) -> Waiter:
        return self.connections.translated(self.dialect.waiter)

    # Enqueue -------------------------------------------------------------------------------------------------------

    def insert(self, new: Sequence[NewJob]) -> list[Job]:
        answers = self._write(lambda s: inserting.insert(s, new, self.now()))
        self._wake_idle_workers()
        return answers

    def _wake_idle_workers(self) -> None:
        """Jobs came in, and that is committed: those of this process need not find out by themselves."""
        wake_this_process(self.dialect.address)

    def insert_on(self, session: Session, new: Sequence[NewJob]) -> list[Job]:
        """Insert within a transaction that belongs to somebody else."""
        with joined(session):
            return inserting.insert(session, new, self.now())

    # Claim and hold ------------------------------------------------------------------------------------------------

    def claim_batch(self, worker_id: str, limit: int, queues: tuple[str, ...] | None = None) -> list[Job]:
        cursor = self._cursors.setdefault(worker_id, claiming.Cursor(random.Random(worker_id)))
        return self.connections.repeat(
            lambda s: claiming.claim_batch(s, worker_id, limit, self.now(), self.lease_seconds, queues, self, cursor)
        )

    def is_held_back(self, worker_id: str) -> bool:
        """Whether the worker's last claim left jobs waiting because of a limit, not because there were none."""
        cursor = self._cursors.get(worker_id)
        return cursor is not None and cursor.held_back

    def heartbeat(self, worker_id: str, names: Sequence[str]) -> list[Held]:
        return (
            self._write(lambda s: leasing.heartbeat(s, worker_id, names, self.now(), self.lease_seconds))
            if names
            else []
        )

    def held(self, worker_id: str, names: Sequence[str] | None = None) -> list[Held]:
        return self._read(lambda s: leasing.held(s, worker_id, names))

    def save_progress(self, name: str, worker_id: str, attempt: int, progress: float, message: str | None) -> None:
        self._write(lambda s: leasing.save_progress(s, name, worker_id, attempt, progress, message))

    def save_checkpoint(self, name: str, worker_id: str, attempt: int, checkpoint: str) -> None:
        self._write(lambda s: leasing.save_checkpoint(s, name, worker_id, attempt, checkpoint))

    # End attempts --------------------------------------------------------------------------------------------------

    def finish(self, worker_id: str, outcomes: Sequence[Outcome]) -> set[str]:
        """Write what became of these attempts. Returns the names of those that this worker no longer owned."""
        return self._write(lambda s: finishing.finish(s, worker_id, outcomes, self.now()))

    def mark_success(self, name: str, worker_id: str, attempt: int, result: Any = None) -> None:
        text = None if result is None else canonical.encode(result, "result", must_be_object=False)
        self._finish_one(worker_id, name, attempt, Status.COMPLETED, result=text)

    def mark_retry(self, name: str, worker_id: str, attempt: int, run_after: datetime, error: str) -> None:
        self._finish_one(
            worker_id, name, attempt, Status.FAILED, run_after=run_after, error=error, error_type="Transient"
        )

    def mark_failed(self, name: str, worker_id: str, attempt: int, error: str) -> None:
        self._finish_one(worker_id, name, attempt, Status.DEAD_LETTER, error=error, error_type="Permanent")

    def release(self, name: str, worker_id: str, attempt: int) -> None:
        self._finish_one(worker_id, name, attempt, Status.QUEUED, give_back=True, reason="released")

    def _finish_one(self, worker_id: str, name: str, attempt: int, status: Status, **details: Any) -> None:
        def write(session: Session) -> set[str]:
            job = reading.get(session, name)
            if job is None:
                raise JobNotFound(f"There is no job {name}.", name=name)
            outcome = Outcome.of(job, status, **details).evolve(attempt=attempt)
            return finishing.finish(session, worker_id, [outcome], self.now())

        if self._write(write):
            raise LeaseLost(
                f"Job {name} no longer belongs to {worker_id} (attempt {attempt}). Nothing was written.",
                name=name,
                attempt=attempt,
            )

    def end_lost_attempt(self, name: str, worker_id: str, attempt: int) -> bool:
        return self._write(lambda s: rescuing.end_lost_attempt(s, name, worker_id, attempt, self.now()))

    # The tick's duties ---------------------------------------------------------------------------------------------

    def promote(self) -> int:
        return self._in_batches(lambda s: promoting.promote_due(s, self.now()), promoting.BATCH)

    def rescue(self) -> int:
        """Not soon after an outage: no worker could extend a lease then, and each must have its chance to do so first."""

        def one(session: Session) -> int:
            n = rescuing.rescue(session, self.now(), LONG_WAIT_SECONDS)
            if session.begin_seconds > LONG_WAIT_SECONDS:
                self.connections.note_trouble()
            return n

        if self.connections.seconds_since_trouble < self.lease_seconds / 2:
            return 0
        return self._in_batches(one, rescuing.BATCH)

    def prune(self, status: Status, ended_before: datetime, progress: Callable[[int], None] = lambda n: None) -> int:
        def one(session: Session) -> int:
            n = pruning.prune(session, status, ended_before, self.now())
            progress(n)
            return n

        return self._in_batches(one, 1)

    def prunable(self, status: Status, ended_before: datetime) -> int:
        return self._read(lambda s: pruning.prunable(s, status, ended_before))

    def compact_stats(self) -> int:
        def compact(session: Session) -> int:
            workers.forget_silent(session, self.now())
            return stats.compact(session, self.now())

        return self.connections.repeat(compact)

    def next_due(self) -> datetime | None:
        return self._read(lambda s: promoting.next_due(s))

    def _in_batches(self, work: Callable[[Session], int], full: int) -> int:
        total = 0
        while True:
            n = self.connections.repeat(work)
            total += n
            if n < full:
                return total

    # By hand -------------------------------------------------------------------------------------------------------

    def cancel(self, name: str, by: str | None = None, reason: str | None = None) -> Status:
        return self._write(lambda s: canceling.cancel(s, name, by, reason and clean(reason), self.now()))

    def retry(self, name: str, by: str | None = None, run_after: datetime | None = None) -> Status:
        now = self.now()
        status = self._write(lambda s: retrying.retry(s, name, by, run_after or now, now))
        wake_this_process(self.dialect.address)
        return status

    def pause(self, scope: str, target: str, by: str | None = None, reason: str | None = None) -> None:
        self._write(lambda s: controls.pause(s, scope, target, by, reason and clean(reason), self.now()))

    def resume(self, scope: str, target: str) -> bool:
        resumed = self._write(lambda s: controls.resume(s, scope, target))
        wake_this_process(self.dialect.address)
        return resumed

    def limit(self, scope: str, target: str, concurrency: int | None, rate: Rate | None) -> None:
        self._write(lambda s: controls.limit(s, scope, target, concurrency, rate))

    # Look ----------------------------------------------------------------------------------------------------------

    def get(self, name: str) -> Job | None:
        return self._read(lambda s: reading.get(s, name))

    def find(self, which: Filter, limit: int, after: str | None = None) -> list[Job]:
        return self._read(lambda s: reading.find(s, which, limit, after))

    def count(self, which: Filter) -> int:
        return self._read(lambda s: reading.count(s, which))

    def count_by(self, which: Filter, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        return self._read(lambda s: reading.count_by(s, which, columns))

    def history(self, job: Job) -> list[Transition]:
        return self._read(lambda s: logbook.history(s, job))

    def parents_of(self, name: str) -> list[tuple[str, Status]]:
        return self._read(lambda s: dependencies.parents_of(s, name))

    def dependents_of(self, name: str) -> list[str]:
        return self._read(lambda s: dependencies.dependents_of(s, [name]))

    def waiting_dependents(self, name: str) -> int:
        return self._read(lambda s: dependencies.waiting_dependents(s, name))

    def controls(self) -> Controls:
        return self._read(self.controls_on)

    def controls_on(self, session: Session) -> Controls:
        """The controls in force: of the code, of an operator, and of whatever a home of the engine adds."""
        return controls.read(session, self.code_limits())

    def waiting_lanes(self, session: Session, ranges: Sequence[tuple[str, str]], most: int) -> Sequence[str]:
        return self.dialect.walk_lanes(session, ranges, most)

    def ask_with_claim(self, session: Session, first: Job) -> None:
        """Nothing: a handler may start at once."""

    # Workers -------------------------------------------------------------------------------------------------------

    def sign_in(self, worker: Worker) -> None:
        self._write(lambda s: workers.sign_in(s, worker))

    def seen(self, worker_id: str) -> None:
        self._write(lambda s: workers.seen(s, worker_id, self.now()))

    def sign_out(self, worker_id: str) -> None:
        self._cursors.pop(worker_id, None)
        self._write(lambda s: workers.sign_out(s, worker_id))

    def workers(self) -> list[Worker]:
        return self._read(lambda s: workers.alive(s, self.now()))

    def _database_time(self) -> datetime:
        at = self.dialect.from_clock(self._read(lambda s: s.value(self.dialect.now)))
        assert at is not None
        return at

    def _read(self, work: Callable[[Session], T]) -> T:
        return self.connections.read(work)

    def _write(self, work: Callable[[Session], T]) -> T:
        return self.connections.write(work)
