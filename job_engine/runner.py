"""Claim a batch and run it job by job. `Runner.run` reads top to bottom: start, resolve, perform, record."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from job_engine import attempt as attempts
from job_engine.attempt import Attempt
from job_engine.context import JobContext
from job_engine.core import canonical
from job_engine.core.errors import Interrupt, JobLeaseLost, StoreUnavailable, WorkerStopping
from job_engine.core.job import Job, Outcome
from job_engine.core.job_type import JobType
from job_engine.core.states import Status
from job_engine.interrupts import Interrupter
from job_engine.keeper import Keeper
from job_engine.settling import settle
from job_engine.telling import tell

if TYPE_CHECKING:
    from job_engine.beacon import Beacon
    from job_engine.engine import Engine

log = logging.getLogger("job_engine.runner")


class Runner:
    def __init__(
        self,
        engine: Engine,
        worker_id: str,
        queues: tuple[str, ...] | None = None,
        beacon: Beacon | None = None,
        exit_when_overdue: bool = False,
    ):
        self.engine = engine
        self.worker_id = worker_id
        self.queues = queues
        self.beacon = beacon
        self.stopping = threading.Event()
        self.interrupter = Interrupter()
        self.group = engine.new_group(worker_id)
        self.attempt: Attempt | None = None  # what runs now
        self.claimed: deque[Job] = deque()  # claimed and not started; the keeper gives them back behind a slow job
        self._seconds_per_job = engine.settings.batch_seconds / 10  # a guess, until the first jobs have run
        self._slow_types: set[str] = set()
        self._keyboard_interrupt: KeyboardInterrupt | None = None
        self._outage: BaseException | None = None
        self._claim_in_doubt = False
        self.keeper = Keeper(self, exit_when_overdue)

    # A batch

    def run_batch(self, limit: int) -> int:
        """Claim and run up to `limit` jobs. Returns how many were run; 0 when none could be claimed."""
        jobs = self._claim(min(limit, self._batch_size()))
        if not jobs:
            return 0
        ran = 0
        started = time.monotonic()
        self.claimed.extend(jobs)
        with self.keeper.holding(jobs), self.interrupter.ready():
            try:
                while (job := self._next()) is not None:
                    self.run(job)
                    ran += 1
                    if self._outage is not None:
                        outage, self._outage = self._outage, None
                        raise StoreUnavailable(f"The database went away while a job ran: {outage}") from outage
            finally:
                self.give_back_unstarted("the worker stopped before it started this job")
                self.group.hand_over()
        if self._keyboard_interrupt is not None:  # everything is given back; now let the program end
            raise self._keyboard_interrupt
        if ran:
            self._seconds_per_job += ((time.monotonic() - started) / ran - self._seconds_per_job) * 0.9
        return ran

    def _claim(self, limit: int) -> list[Job]:
        if self.group.has_returned or self._claim_in_doubt:  # what an outage has left behind comes first
            self.group.write()
        if self._claim_in_doubt:
            settle(self.engine, self.worker_id, None, 0, None, reason="its claim was committed unheard of")
            self._claim_in_doubt = False
        self._outage = None  # it may have ended the last batch in another way before anybody looked
        jobs = self._claim_once(limit)
        if not jobs and self.group.has_unwritten:
            self.group.write()  # what this worker has finished may make room for more, or unblock some
            jobs = self._claim_once(limit)
        return jobs

    def _claim_once(self, limit: int) -> list[Job]:
        try:
            return self.engine.store.claim_batch(self.worker_id, limit, self.queues)
        except StoreUnavailable:
            self._claim_in_doubt = True  # the connection may have died after the commit and before its answer
            raise

    def _batch_size(self) -> int:
        settings = self.engine.settings
        return max(1, min(settings.batch_jobs, int(settings.batch_seconds / max(self._seconds_per_job, 1e-6))))

    def _next(self) -> Job | None:
        try:
            return None if self.stopping.is_set() else self.claimed.popleft()
        except IndexError:
            return None

    def give_back_unstarted(self, reason: str) -> None:
        """Let other workers have the jobs that this one has claimed and not started. The attempts are not charged."""
        unstarted: list[Job] = []
        while self.claimed:
            try:
                unstarted.append(self.claimed.pop())
            except IndexError:  # the other thread was quicker
                break
        if not unstarted:
            return
        outcomes = [_given_back(job, reason) for job in unstarted]
        try:
            self.engine.store.finish(self.worker_id, outcomes)
        except Exception:
            for outcome in outcomes:  # given back with the next group, when the database is there again
                self.group.add(outcome)
            raise

    def forget_lost(self, lost: Sequence[Job]) -> None:
        """Do not start these claims, which have been taken from this worker in the meantime, or have ended.

        By identity: a job may since have been given back and claimed anew, and that claim is not lost.
        """
        gone = {id(job) for job in lost}
        for job in list(self.claimed):
            if id(job) in gone:
                try:
                    self.claimed.remove(job)
                except (ValueError, IndexError):
                    pass  # it, or one before it, was started just now; its own fence will tell

    # One job

    def run(self, job: Job) -> None:
        try:
            attempt = self._start(job)
        except BaseException:
            self.claimed.appendleft(job)  # not started, and to be given back with the others
            raise
        try:
            outcome = self._perform(attempt)
        except Interrupt as late:  # it came when the handler had just ended
            self.group.undo_writes()
            outcome = self._failure(attempt, late)
        finally:
            self.interrupter.leave()
            self.attempt = None
            self._show(job, None)  # it has ended: that its outcome waits for the database must not look like a timeout
        try:
            self._record(attempt, outcome)
        finally:
            self.engine.ended()

    def _start(self, job: Job) -> Attempt:
        job_type = self.engine.type_of(job)
        if self._commits_alone(job, job_type) or job.job_type in self._slow_types:
            self.group.write()  # nobody waits for a job that is known to be slow
        attempt = Attempt(job, job_type)
        self._show(job, attempt.deadline)
        self.attempt = attempt
        return attempt

    def _show(self, job: Job, deadline: float | None) -> None:
        beacon = self.beacon  # which is taken away when the supervisor dies
        if beacon is not None:
            beacon.show(job.name, job.attempts, deadline)

    def _commits_alone(self, job: Job, job_type: JobType) -> bool:
        return job_type.commit == "Each" or self.group.keeps_alone(job)

    def _perform(self, attempt: Attempt) -> Outcome:
        attempts.set_current(attempt, self.group)
        try:
            self.group.enter(attempt)
            self.interrupter.enter(attempt)
            result = self.engine.perform(attempt, JobContext(self.engine, attempt, self.group))
            self.interrupter.leave()
            if attempt.lost or attempt.undone:
                raise attempt.undone or JobLeaseLost()
            outcome = self._success(attempt, result)
            self.group.keep_writes()
            return outcome
        except BaseException as error:
            self.interrupter.leave()
            self.group.undo_writes()
            return self._failure(attempt, error)
        finally:
            attempts.set_current(None)

    def _success(self, attempt: Attempt, result: Any) -> Outcome:
        outcome = Outcome.of(attempt.job, Status.COMPLETED, attempt.seconds)
        if result is None and attempt.is_plain:
            return outcome  # as most are
        limit = self.engine.settings.payload_bytes
        processed, failed = attempt.counts
        return outcome.evolve(
            result=None if result is None else canonical.encode(result, "result", limit, must_be_object=False),
            progress_message=attempt.message,
            processed=processed,
            failed=failed,
            used_connection=attempt.uses_connection,
        )

    def _failure(self, attempt: Attempt, error: BaseException) -> Outcome:
        if attempt.interruption is not None:
            error = attempt.interruption  # the handler may have turned it into an error of its own
        elif isinstance(error, KeyboardInterrupt):
            self.stopping.set()
            self._keyboard_interrupt = error
            error = WorkerStopping()
        elif self._is_outage(attempt, error):
            self._outage = error
            return _given_back(attempt.job, "the database went away")
        outcome = self.engine.judge(attempt.job, error, attempt.seconds)
        processed, failed = attempt.counts
        percent = attempt.percent if attempt.progress_was_told else None
        return outcome.evolve(progress=percent, progress_message=attempt.message, processed=processed, failed=failed)

    def _is_outage(self, attempt: Attempt, error: BaseException) -> bool:
        """Whether the job failed because the engine's own database is away, which is nobody's fault but the database's."""
        store = self.engine.store
        if self.group.holds_the_only_writer:
            return False
        broken = isinstance(error, StoreUnavailable) or (attempt.uses_connection and store.dialect.is_disconnect(error))
        return broken and not store.connections.is_reachable()

    def _record(self, attempt: Attempt, outcome: Outcome) -> None:
        slow = outcome.duration > self.engine.settings.group_seconds
        if slow:
            self._slow_types.add(attempt.job.job_type)
        elif self._slow_types:
            self._slow_types.discard(attempt.job.job_type)
        self.group.end(outcome)  # also of a job that was lost: the fence, not this worker, decides
        if not attempt.lost:
            tell(attempt.job, outcome, self.engine.command)
        if slow or self._commits_alone(attempt.job, attempt.job_type):
            self.group.write()
        else:
            self.group.write_if_due()

    def close(self) -> None:
        self.keeper.close()
        try:
            self.give_back_unstarted("the worker stopped before it started this job")
            self.group.write()
        except StoreUnavailable:
            log.error("The database is away: what this worker held will be rescued when its leases expire")
        self.group.close()


def _given_back(job: Job, reason: str) -> Outcome:
    return Outcome.of(job, Status.QUEUED, give_back=True, reason=reason)
