"""Random sequences of operations by several workers, compared with a model after every step.

No job is lost, none completes twice, attempts never exceed their maximum, every transition is legal, history and counters
match the state.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from job_engine.core.errors import IllegalTransition, InvalidJob, JobNotFound, LeaseLost
from job_engine.core.job import Outcome
from job_engine.core.priority import PRIORITIES
from job_engine.core.registry import Registry
from job_engine.core.states import ENDED, WAITING, Status
from job_engine.engine import Engine
from job_engine.store.sqlite import SQLite
from job_engine.tests.clock import FrozenClock
from job_engine.tests.ledger import check_ledger
from job_engine.tests.model import LEASE, Claim, Model, ModelJob

S = Status
WORKERS = ["w1", "w2", "w3"]
SCOPES = [("everything", ""), ("type", "a"), ("organization", "ACME"), ("organization", "Globex")]
TABLES = ("log", "dependency", "control", "stat", "job")
organizations = st.sampled_from([None, "ACME", "Globex"])
waits = st.sampled_from([0, 0, 0, 20, 200])
picks = st.integers(0, 10_000)


class Jobs(RuleBasedStateMachine):
    """Several workers, an operator and a clock on one engine, each step beside the model."""

    open_engine: Callable[[], Engine]
    clock: FrozenClock

    @initialize()
    def start(self) -> None:
        self.engine = type(self).open_engine()
        self.store = self.engine.store
        self.model = Model()
        self.claims: list[Claim] = []  # also those that were lost long ago

    @property
    def now(self) -> Any:
        return self.clock.now

    def _a_name(self, pick: int) -> str:
        names = list(self.model.jobs)
        return names[pick % len(names)]

    def _a_claim(self, pick: int) -> Claim:
        return self.claims[-1 - pick % len(self.claims)]

    # Enqueue

    @rule(
        job_type=st.sampled_from("ab"),
        n=st.integers(0, 2),
        organization=organizations,
        priority=st.sampled_from(PRIORITIES),
        wait=waits,
        max_attempts=st.integers(1, 3),
        dedup=st.sampled_from(["off", "hash", "key 1", "key 2"]),
        parents=st.lists(picks, max_size=2),
    )
    def enqueue(
        self,
        job_type: str,
        n: int,
        organization: str | None,
        priority: str,
        wait: int,
        max_attempts: int,
        dedup: str,
        parents: list[int],
    ) -> None:
        names = {self._a_name(pick) for pick in parents} if self.model.jobs else set()
        key = dedup if dedup.startswith("key") else None
        window = 100 if dedup == "hash" else 0
        options: dict[str, Any] = {
            "organization": organization,
            "priority": priority,
            "run_after": wait,
            "max_attempts": max_attempts,
            "dedup_key": key,
            "dedup_window": window,
            "depends_on": sorted(names),
        }
        theirs = [self.model.jobs[name] for name in names]
        refused = any(p.organization != organization or p.status is S.CANCELED for p in theirs)
        try:
            job = self.engine.enqueue(job_type, {"n": n}, **options)
        except InvalidJob:
            assert refused
            return
        assert not refused or not job.created  # a duplicate needs no parents
        twin = self.model.twin(organization, key, job.job_hash, window, self.now)
        assert (job.created, None if job.created else job.name) == (twin is None, twin)
        if job.created:
            made = ModelJob(
                job.name,
                job_type,
                organization,
                priority,
                S.QUEUED,
                self.now + timedelta(seconds=wait),
                max_attempts,
                self.now,
                job.job_hash,
                key,
                names,
            )
            self.model.enqueue(made, window, self.now)

    # Workers

    @rule(worker=st.sampled_from(WORKERS), limit=st.integers(1, 4), first_let_time_pass=st.booleans())
    def claim(self, worker: str, limit: int, first_let_time_pass: bool) -> None:
        if first_let_time_pass:
            self.clock.advance(21)
            self._tick("promote")
        claimable = {j.name: j for j in self.model.claimable()}
        claimed = self.store.claim_batch(worker, limit)
        names = [job.name for job in claimed]
        assert len(names) == len(set(names)) <= limit
        assert set(names) <= claimable.keys()
        assert bool(names) == bool(claimable), "something could be claimed and was not"
        suspects = [name for name in names if self.model.jobs[name].lost]
        assert not suspects or names == suspects[:1], "a suspect had company"
        if not any(j.lost for j in claimable.values()):
            ranks = [PRIORITIES.index(self.model.jobs[name].priority) for name in names]
            left = [PRIORITIES.index(j.priority) for j in claimable.values() if j.name not in names]
            assert ranks == sorted(ranks)
            assert not ranks or not left or max(ranks) <= min(left), "a more urgent job was left behind"
        for job in claimed:
            self.model.claim(job.name, worker, self.now)
            self.claims.append((job.name, worker, job.attempts))

    @precondition(lambda self: self.claims)
    @rule(pick=picks, how=st.sampled_from(["ok", "ok", "retry", "fail", "release", "snooze", "time out"]), wait=waits)
    def end_attempt(self, pick: int, how: str, wait: int) -> None:
        claim = self._a_claim(pick)
        owned = self.model.owns(claim)
        later = self.now + timedelta(seconds=wait)
        try:
            self._end(claim, how, later)
            assert owned, f"{claim} was not the owner and could end the attempt"
        except (LeaseLost, JobNotFound):
            assert not owned, f"{claim} was the owner and could not end the attempt"
            return
        status = {"ok": S.COMPLETED, "retry": S.FAILED, "fail": S.DEAD_LETTER, "release": S.QUEUED}.get(how)
        status = status or (S.PENDING if how == "snooze" else S.TIMED_OUT)
        run_after = later if how in ("retry", "snooze", "time out") else None
        self.model.finish(claim, status, self.now, run_after, how in ("release", "snooze"))

    def _end(self, claim: Claim, how: str, later: Any) -> None:
        name, worker, attempt = claim
        if how == "ok":
            self.store.mark_success(name, worker, attempt, '"done"')
        elif how == "retry":
            self.store.mark_retry(name, worker, attempt, later, "ConnectionError: gone")
        elif how == "fail":
            self.store.mark_failed(name, worker, attempt, "ValueError: no")
        elif how == "release":
            self.store.release(name, worker, attempt)
        else:
            job = self.store.get(name)
            if job is None:
                raise JobNotFound(name=name)
            snoozed = how == "snooze"
            status = S.PENDING if snoozed else S.TIMED_OUT
            outcome = Outcome(
                name, attempt, status, 1.0, job.job_type, job.organization, run_after=later, give_back=snoozed
            )
            if self.store.finish(worker, [outcome]):
                raise LeaseLost(name=name, attempt=attempt)

    @precondition(lambda self: self.claims)
    @rule(pick=picks)
    def save(self, pick: int) -> None:
        claim = self._a_claim(pick)
        try:
            self.store.save_checkpoint(*claim, '{"a":1}')
            self.store.save_progress(*claim, 50.0, "half")
            assert self.model.owns(claim)
        except LeaseLost:
            assert not self.model.owns(claim)

    @rule(worker=st.sampled_from(WORKERS))
    def heartbeat(self, worker: str) -> None:
        names = sorted({name for name, owner, _ in self.claims if owner == worker})
        held = {h.name: h.cancel_requested for h in self.store.heartbeat(worker, names)}
        assert held == {name: self.model.jobs[name].cancel_wanted for name in self.model.held_by(worker)}
        for name in held:
            self.model.jobs[name].lease_ends = self.now + LEASE

    # The tick and the clock

    @rule(seconds=st.sampled_from([1, 19, 61, 101, 3600]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(duty=st.sampled_from(["promote", "promote", "rescue", "compact"]))
    def tick(self, duty: str) -> None:
        self._tick(duty)

    def _tick(self, duty: str) -> None:
        if duty == "promote":
            waiting = [j for j in self.model.jobs.values() if j.status in WAITING and not self.model.blockers(j)]
            assert self.store.next_due() == min((j.run_after for j in waiting), default=None)
            assert self.store.promote() == self.model.promote(self.now)
        elif duty == "rescue":
            assert self.store.rescue() == self.model.rescue(self.now)
        else:
            self.store.compact_stats()

    # The operator

    @precondition(lambda self: self.model.jobs)
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        name = self._a_name(pick)
        try:
            self.store.cancel(name, "operator@example.com")
            assert self.model.cancel(name, self.now)
        except IllegalTransition:
            assert self.model.jobs[name].status in ENDED

    @precondition(lambda self: self.model.jobs)
    @rule(pick=picks, wait=waits)
    def retry(self, pick: int, wait: int) -> None:
        name = self._a_name(pick)
        run_after = self.now + timedelta(seconds=wait)
        try:
            self.store.retry(name, "operator@example.com", run_after)
            assert self.model.retry(name, self.now, run_after)
        except IllegalTransition:
            assert self.model.jobs[name].status not in (S.DEAD_LETTER, S.CANCELED)

    @rule(scope=st.sampled_from(SCOPES))
    def pause_or_resume(self, scope: tuple[str, str]) -> None:
        if scope in self.model.paused:
            assert self.engine.resume(*scope)
            self.model.paused.discard(scope)
        else:
            self.engine.pause(*scope)
            self.model.paused.add(scope)

    @rule(status=st.sampled_from(sorted(ENDED)), age=st.sampled_from([0, 60, 3600]))
    def prune(self, status: Status, age: int) -> None:
        before = self.now - timedelta(seconds=age)
        old = {
            job.name
            for job in self.model.jobs.values()
            if job.status is status and job.ended_at is not None and job.ended_at < before
        }
        awaited = {p for j in self.model.jobs.values() if j.status is not S.COMPLETED for p in j.parents}
        pruned = self.store.prune(status, before)
        gone = self.model.jobs.keys() - {job.name for job in self.engine.find(limit=10_000)}
        assert len(gone) == pruned
        assert old - awaited <= gone <= old
        waiting = [j for j in self.model.jobs.values() if j.status is not S.COMPLETED and j.name not in gone]
        assert status is S.COMPLETED or not any(j.parents & gone for j in waiting), "its parent was forgotten"
        self.model.forget(gone)

    # What must hold

    @invariant()
    def the_store_agrees_with_the_model(self) -> None:
        stored = {job.name: job for job in self.engine.find(limit=10_000)}
        assert stored.keys() == self.model.jobs.keys()
        for name, mine in self.model.jobs.items():
            job = stored[name]
            found = (job.status, job.attempts, job.lost, job.lease_owner, job.run_after, job.lease_expires_at)
            assert found == (mine.status, mine.attempts, mine.lost, mine.owner, mine.run_after, mine.lease_ends), name
            assert job.attempts <= job.max_attempts
            if job.status in (S.PENDING, S.QUEUED, S.FAILED, S.TIMED_OUT):
                assert job.blockers == self.model.blockers(mine)
        assert set(self.model.completions.values()) <= {1}

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            try:
                check_ledger(self.engine)
            finally:
                self.engine.close()


def _run(open_engine: Callable[[FrozenClock, Registry], Engine], examples: int, steps: int) -> None:
    registry = Registry()
    for job_type in "ab":
        registry.job(job_type)(lambda **params: None)
    clock = FrozenClock()
    machine = type("Jobs", (Jobs,), {"open_engine": staticmethod(lambda: open_engine(clock, registry)), "clock": clock})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.timeout(600)  # a failure is made small before it is shown, which takes its time
def test_sqlite_agrees_with_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = itertools.count()
    connect = SQLite.connect

    def connect_without_waiting_for_the_disk(self: SQLite) -> Any:
        connection = connect(self)
        connection.execute("PRAGMA synchronous = OFF")  # a power cut is not what is tested here
        return connection

    monkeypatch.setattr(SQLite, "connect", connect_without_waiting_for_the_disk)

    def open_engine(clock: FrozenClock, registry: Registry) -> Engine:
        return Engine.open(f"sqlite:///{tmp_path}/{next(files)}.db", clock=clock, registry=registry)

    _run(open_engine, examples=200, steps=50)


@pytest.mark.parametrize(
    "database", [pytest.param(d, marks=getattr(pytest.mark, d)) for d in ("postgresql", "mariadb")]
)
def test_a_server_agrees_with_the_model(database: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{database}_url")

    def open_engine(clock: FrozenClock, registry: Registry) -> Engine:
        engine = Engine.open(url, clock=clock, registry=registry)
        with engine.store.transaction() as session:
            for table in TABLES:
                session.execute(f"DELETE FROM {{{table}}}")
        return engine

    _run(open_engine, examples=10, steps=40)
