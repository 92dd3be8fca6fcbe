"""The engine: one object for everything an application does with jobs."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from job_engine import attempt as attempts
from job_engine.attempt import Attempt
from job_engine.calling import call
from job_engine.context import HandlerConnection, JobContext
from job_engine.core.classify import Classifier, default_classifier
from job_engine.core.clock import Clock, utc
from job_engine.core.decide import decide
from job_engine.core.errors import JobNotFound
from job_engine.core.job import Job, Outcome, Transition
from job_engine.core.job_type import JobType, Rate
from job_engine.core.language import _
from job_engine.core.registry import Registry, default_registry
from job_engine.core.states import ENDED, Status
from job_engine.dispatcher import Tick, tick
from job_engine.enqueueing import build, check_options, moment, resolve
from job_engine.explaining import explain
from job_engine.group import Group
from job_engine.metrics import Metrics, read_metrics
from job_engine.resolving import code_limits, type_of
from job_engine.retrying import RetryPlan, plan_retry, retry_many
from job_engine.runner import Runner
from job_engine.settings import Settings
from job_engine.store.adopting import adopt
from job_engine.store.reading import Filter
from job_engine.store.session import Session
from job_engine.store.sql import SqlStore
from job_engine.store.url import dialect_for
from job_engine.store.waiting import wake_this_process
from job_engine.worker_id import new_worker_id

if TYPE_CHECKING:
    from job_engine.worker import Worker


class Engine:
    command = "job-engine"  # what operators type in this home

    def __init__(
        self,
        store: SqlStore,
        registry: Registry = default_registry,
        settings: Settings = Settings(),  # noqa: B008 - frozen
        classifier: Classifier = default_classifier,
        rng: random.Random | None = None,
    ):
        self.store = store
        self.registry = registry
        self.settings = settings
        self.classifier = classifier
        self._rng = rng
        self._threads = threading.local()
        self._workers: list[Worker] = []
        store.code_limits = lambda: code_limits(registry)

    @classmethod
    def open(
        cls,
        url: str,
        clock: Clock | None = None,
        *,
        registry: Registry = default_registry,
        classifier: Classifier = default_classifier,
        seed: int | None = None,
        **settings: Any,
    ) -> Engine:
        """Open a database by its URL, creating the tables at the first time.

        `clock` replaces the database's clock and `seed` makes jitter repeatable, both for tests. Other keywords are fields
        of Settings.
        """
        chosen = Settings.of(**settings)
        store = SqlStore(dialect_for(url), clock and (lambda: utc(clock())), chosen.lease_seconds)
        store.create_tables()
        rng = None if seed is None else random.Random(seed)
        return cls(store, registry, chosen, classifier, rng)

    def close(self) -> None:
        """Close this thread's connections."""
        runner: Runner | None = getattr(self._threads, "runner", None)
        if runner is not None:
            runner.close()
            self._threads.runner = None
        self.store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # Enqueue -------------------------------------------------------------------------------------------------------

    def enqueue(
        self,
        job_type: str | Callable[..., Any],
        params: dict[str, Any] | None = None,
        *,
        connection: Any = None,
        **options: Any,
    ) -> Job:
        """Make one job, or return the one that is there already; `created` of the answer tells which it was.

        `connection` is a connection or transaction of the caller's own: the job exists if and only if that commits. Inside
        a handler the job's own transaction is used. Options: organization, user, run_after, priority, queue, timeout,
        max_attempts, dedup_key, dedup_window, depends_on.
        """
        return self._insert(job_type, [params], connection, options)[0]

    def enqueue_many(
        self,
        job_type: str | Callable[..., Any],
        params: Iterable[dict[str, Any] | None],
        *,
        connection: Any = None,
        **options: Any,
    ) -> list[Job]:
        """Make one job for each of the parameters, all in one transaction: all or none."""
        return self._insert(job_type, list(params), connection, options)

    @contextmanager
    def transaction(self) -> Iterator[HandlerConnection]:
        """A transaction on the jobs' own database, for data and jobs that belong together: pass it as `connection`."""
        session = self.store.connections.open(for_handlers=True)  # not the one that the engine itself uses meanwhile
        try:
            with session.transaction():
                yield HandlerConnection(session.connection)
        finally:
            session.close()
        wake_this_process(self.store.dialect.address)

    def _insert(
        self,
        what: str | Callable[..., Any],
        params: Sequence[dict[str, Any] | None],
        connection: Any,
        options: dict[str, Any],
    ) -> list[Job]:
        check_options(options)
        job_type, handler = resolve(self.registry, what)
        new = build(job_type, handler, params, self.settings, self.store.now(), **options)
        session = self._callers_session(connection)
        if not new:
            return []
        return self.store.insert(new) if session is None else self.store.insert_on(session, new)

    def _callers_session(self, connection: Any) -> Session | None:
        if connection is not None:
            return adopt(self.store.dialect, connection)
        attempt, group = attempts.current()
        if attempt is not None and isinstance(group, Group) and group.store is self.store:
            return group.session_for(attempt)
        return None

    # Run -----------------------------------------------------------------------------------------------------------

    def run_once(self, max_jobs: int = 50, queues: Sequence[str] | None = None) -> int:
        """Claim and run what is due, now, in this thread. Returns how many jobs were run.

        This never ends the process: a handler that will not stop after its timeout is recorded as Timed Out, and what it
        still does is ignored.
        """
        self.tick()
        runner = self._runner(tuple(queues) if queues is not None else None)
        ran = 0
        while ran < max_jobs and not runner.stopping.is_set():
            n = runner.run_batch(max_jobs - ran)
            if not n:
                break
            ran += n
        runner.group.write()
        return ran

    def run_forever(
        self, poll_seconds: float = 2.0, max_jobs_per_tick: int = 50, queues: Sequence[str] | None = None
    ) -> None:
        """Be a worker in this process until SIGTERM, SIGINT or `stop()`. `job-engine work` runs several, supervised."""
        from job_engine.worker import Worker

        worker = Worker(self, new_worker_id(), tuple(queues) if queues is not None else None)
        self._workers.append(worker)
        try:
            worker.run(poll_seconds, max_jobs_per_tick)
        finally:
            self._workers.remove(worker)

    def stop(self) -> None:
        """End every run_forever of this engine: each finishes the job at hand and gives back the others."""
        for worker in self._workers:
            worker.stop()

    def tick(self) -> Tick:
        """Queue what is due and rescue what lost its worker."""
        return tick(self)

    def rescue(self) -> int:
        """Take back the jobs whose lease has expired. Returns how many."""
        return self.store.rescue()

    def _runner(self, queues: tuple[str, ...] | None) -> Runner:
        runner: Runner | None = getattr(self._threads, "runner", None)
        if runner is None or runner.queues != queues or runner.stopping.is_set():
            if runner is not None:
                runner.close()
            runner = self._threads.runner = Runner(self, new_worker_id(), queues)
        return runner

    # See and steer -------------------------------------------------------------------------------------------------

    def get(self, name: str) -> Job:
        job = self.store.get(name)
        if job is None:
            raise JobNotFound(
                _(
                    "There is no job {0} in this database: it was pruned, or the transaction that made it was not"
                    " committed."
                ).format(name),
                name=name,
            )
        return job

    def find(self, limit: int = 100, after: str | None = None, **criteria: Any) -> list[Job]:
        """Jobs by status, job_type, organization, queue, priority, user, error_type, ...; the newest first."""
        return self.store.find(Filter.of(**criteria), limit, after)

    def count(self, **criteria: Any) -> int:
        return self.store.count(Filter.of(**criteria))

    def history(self, name: str) -> list[Transition]:
        """Every change of state, oldest first."""
        return self.store.history(self.get(name))

    def explain(self, name: str) -> str:
        """One sentence: why the job is where it is, and what happens next."""
        return explain(self, self.get(name))

    def worker_hint(self, queue: str) -> str:
        """What an operator has to start before a job of this queue can run; empty where somebody serves it."""
        if any(worker.serves(queue) for worker in self.store.workers()):
            return ""
        return _("No worker that serves queue {0} has been seen lately: start one with `job-engine work`.").format(
            queue
        )

    def metrics(self, organization: str | None = None) -> Metrics:
        return read_metrics(self, organization)

    def cancel(self, name: str, by: str | None = None, reason: str | None = None) -> Job:
        """Cancel a waiting job at once; ask a running one to stop."""
        self.store.cancel(name, by, reason)
        return self.get(name)

    def retry(self, name: str, by: str | None = None, run_after: datetime | timedelta | float | None = None) -> Job:
        """Run a job again that is in Dead Letter or was canceled, with all its attempts."""
        self.store.retry(name, by, moment(run_after, self.store.now()))
        return self.get(name)

    def plan_retry(self, **criteria: Any) -> RetryPlan:
        """What `retry_many` with the same criteria would do."""
        return plan_retry(self, Filter.of(**criteria))

    def retry_many(
        self,
        by: str | None = None,
        spread_seconds: float = 0.0,
        progress: Callable[[int], None] = lambda n: None,
        **criteria: Any,
    ) -> int:
        """Retry every job that matches, spread evenly over some time if asked. Returns how many."""
        return retry_many(self, Filter.of(**criteria), by, spread_seconds, progress)

    def pause(self, scope: str, target: str = "", by: str | None = None, reason: str | None = None) -> None:
        """Let no job of a "type", "queue" or "organization", or of "everything", be claimed until it is resumed."""
        self.store.pause(scope, target, by, reason)

    def resume(self, scope: str, target: str = "") -> bool:
        """Undo a pause. False: there was none."""
        return self.store.resume(scope, target)

    def limit(self, scope: str, target: str, concurrency: int | None = None, rate: Rate | str | None = None) -> None:
        """Limit how many jobs of a "type" or an "organization" run at once or start in a time ("100/m")."""
        self.store.limit(scope, target, concurrency, Rate.parse(rate))

    def plan_prune(
        self, older_than_days: float | None = None, statuses: Iterable[Status | str] = sorted(ENDED)
    ) -> dict[str, int]:
        """How many jobs of each state `prune` with the same arguments would forget."""
        before = self._retention_edge(older_than_days)
        return {str(Status(s)): self.store.prunable(Status(s), before) for s in statuses}

    def prune(
        self,
        older_than_days: float | None = None,
        statuses: Iterable[Status | str] = sorted(ENDED),
        progress: Callable[[int], None] = lambda n: None,
    ) -> int:
        """Forget ended jobs, with their history, in small batches. Returns how many."""
        before = self._retention_edge(older_than_days)
        return sum(self.store.prune(Status(status), before, progress) for status in statuses)

    def _retention_edge(self, older_than_days: float | None) -> datetime:
        days = self.settings.retention_days if older_than_days is None else older_than_days
        return self.store.now() - timedelta(days=days)

    # For runners; a home of the engine may do these in its own way ---------------------------------------------------

    def new_group(self, worker_id: str) -> Group:
        """What collects a runner's finished jobs."""
        return Group(self.store, worker_id, self.settings, self.judge)

    def perform(self, attempt: Attempt, context: JobContext) -> Any:
        """Call the handler. What it returns is the job's result."""
        return call(attempt.job_type, attempt.job.params, context)

    def ended(self) -> None:
        """What became of the attempt at hand is written, or waits to be with others. Called also where that has failed."""

    def takes_long(self, job: Job) -> None:
        """A job has been running for a moment, and still is. Called once for an attempt, in the keeper's thread."""

    def progressed(self, job: Job, percent: float, message: str | None) -> None:
        """A running job's progress was written. Called in the keeper's thread."""

    def type_of(self, job: Job) -> JobType:
        return type_of(self.registry, job)

    def judge(self, job: Job, error: BaseException, seconds: float) -> Outcome:
        """Decide what becomes of an attempt that raised."""
        job_type = self.type_of(job)
        classifier = self.classifier
        if job_type.transient or job_type.permanent:
            classifier = classifier.with_overrides(job_type.transient, job_type.permanent)
        return decide(
            job, error, job_type.retry, classifier, self.store.now(), seconds, self._rng, self.settings.error_bytes
        )
