"""Faults at the worst moment of a group's commit: nothing half-written stays, nobody is blamed for another, nothing is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from job_engine import JobContext, Snooze
from job_engine.core.errors import JobEngineError, StoreUnavailable
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.store import finishing, logbook
from job_engine.store.session import Session
from job_engine.tests.acceptance.waiting import until
from job_engine.tests.clock import FrozenClock
from job_engine.tests.integration.conftest import OpenEngine
from job_engine.tests.ledger import check_ledger


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """The faults are injected above the driver, so that one database stands for all."""
    return f"{sqlite_url}?busy_seconds=0.2"


@pytest.fixture
def engine(open_engine: OpenEngine) -> Engine:
    """Groups that no slow machine writes early."""
    engine = open_engine(group_seconds=100.0, batch_seconds=100.0)
    with engine.store.session() as session:
        session.execute("CREATE TABLE effect (job varchar(40) NOT NULL)")
    return engine


def write(ctx: JobContext, text: str | None = None) -> None:
    ctx.connection.execute("INSERT INTO effect (job) VALUES (?)", (text or ctx.name,))


def effects(engine: Engine) -> list[str]:
    with engine.store.session() as session:
        return sorted(session.column("SELECT job FROM effect"))


def fails_once(work: Callable[..., Any], error: BaseException) -> Callable[..., Any]:
    """The same work, whose first call raises."""
    errors = [error]

    def attempt(*arguments: Any) -> Any:
        if errors:
            raise errors.pop()
        return work(*arguments)

    return attempt


def refuse_to_commit(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """What a constraint that is checked at the commit does to a transaction that has this text among its effects."""
    commit = Session.commit

    def check_and_commit(session: Session) -> None:
        if text in session.column("SELECT job FROM effect"):
            raise sqlite3.IntegrityError(f"{text} violates a deferred constraint")
        commit(session)

    monkeypatch.setattr(Session, "commit", check_and_commit)


# Ctrl-C --------------------------------------------------------------------------------------------------------------


def test_ctrl_c_in_the_middle_of_a_groups_write_leaves_no_half_of_it(
    engine: Engine, open_engine: OpenEngine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.job("step", dedup_window=0)(lambda: None)
    parents = [engine.enqueue("step") for _ in range(3)]
    children = [engine.enqueue("step", depends_on=parent) for parent in parents]
    interrupted = fails_once(logbook.record_outcomes, KeyboardInterrupt())
    monkeypatch.setattr(logbook, "record_outcomes", interrupted)  # called between a job's new state and its dependents
    with pytest.raises(KeyboardInterrupt):
        engine.run_once()
    check_ledger(engine)
    engine.close()

    other = open_engine()
    check_ledger(other)
    other.run_once()
    for job in (*parents, *children):
        assert other.get(job.name).status is Status.COMPLETED
        moves = [move.to_status for move in other.history(job.name)]
        assert moves[-3:] == [Status.QUEUED, Status.RUNNING, Status.COMPLETED]
    check_ledger(other)


# Checkpoints ---------------------------------------------------------------------------------------------------------


def test_another_writer_after_a_checkpoint_and_a_read_costs_no_attempt(
    engine: Engine, registry: Registry, sqlite_url: str
) -> None:
    @registry.job("page")
    def write_pages(ctx: JobContext) -> None:
        connection = ctx.connection
        write(ctx, "first page")
        ctx.save_checkpoint()
        assert connection.execute("SELECT count(*) FROM effect").fetchone() == (1,)
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), timeout=1)) as somebody, somebody:
            somebody.execute("INSERT INTO effect (job) VALUES ('somebody else')")
        connection.execute("INSERT INTO effect (job) VALUES ('second page')")

    job = engine.enqueue("page")
    engine.run_once()
    after = engine.get(job.name)
    assert (after.status, after.attempts) == (Status.COMPLETED, 1), after.last_error
    assert effects(engine) == ["first page", "second page", "somebody else"]
    check_ledger(engine)


def test_a_handler_that_hides_its_failed_checkpoint_does_not_complete(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    @registry.job("import", max_attempts=1)
    def import_rows(ctx: JobContext) -> None:
        write(ctx, "refused")
        with suppress(Exception):
            ctx.save_checkpoint()
        write(ctx, "as if nothing had happened")

    refuse_to_commit(monkeypatch, "refused")
    job = engine.enqueue("import")
    engine.run_once()
    after = engine.get(job.name)
    assert after.status is Status.DEAD_LETTER
    assert "deferred constraint" in (after.last_error or "")
    assert effects(engine) == []
    check_ledger(engine)


def test_a_neighbours_refused_writes_cost_the_saver_of_a_checkpoint_no_attempt(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch, clock: FrozenClock
) -> None:
    seen: list[tuple[str, int]] = []

    @registry.job("step", max_attempts=1)
    def step(ctx: JobContext, text: str, save: bool) -> None:
        seen.append((text, ctx.attempt))
        write(ctx, text)
        if save:
            ctx.save_checkpoint()

    refuse_to_commit(monkeypatch, "refused")
    guilty = engine.enqueue("step", {"text": "refused", "save": False})
    clock.advance(1)
    innocent = engine.enqueue("step", {"text": "innocent", "save": True})
    engine.run_once()
    assert seen[:2] == [("refused", 1), ("innocent", 1)], "they did not share a group"
    assert engine.get(guilty.name).status is Status.DEAD_LETTER
    after = engine.get(innocent.name)
    assert (after.status, after.attempts) == (Status.COMPLETED, 1), after.last_error
    assert effects(engine) == ["innocent"]
    check_ledger(engine)


# The database goes away ----------------------------------------------------------------------------------------------


def test_a_database_that_goes_away_while_blame_is_sought_completes_no_job_without_its_writes(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.job("write")(lambda ctx: write(ctx))
    job = engine.enqueue("write")
    refused = fails_once(finishing.finish, sqlite3.IntegrityError("refused"))
    monkeypatch.setattr(finishing, "finish", refused)
    monkeypatch.setattr(engine.store, "get", fails_once(engine.store.get, StoreUnavailable("away")))
    with pytest.raises(StoreUnavailable):
        engine.run_once()
    engine.run_once()
    assert engine.get(job.name).status is Status.COMPLETED
    assert effects(engine) == [job.name]
    check_ledger(engine)


def test_a_handler_that_locks_itself_out_uses_up_its_attempts(engine: Engine, registry: Registry) -> None:
    """Its own transaction keeps everybody from writing, and so the second connection that it asks for waits in vain."""
    runs: list[int] = []

    @registry.job("lock", retry=0, max_attempts=2)
    def write_and_cancel(ctx: JobContext) -> None:
        runs.append(ctx.attempt)
        write(ctx)
        ctx.engine.cancel(waiting.name)

    registry.job("wait")(lambda: None)
    waiting = engine.enqueue("wait", run_after=3600)
    job = engine.enqueue("lock")
    for _ in range(4):
        engine.run_once()
    after = engine.get(job.name)
    assert (after.status, after.attempts, runs) == (Status.DEAD_LETTER, 2, [1, 2]), after.reason
    assert effects(engine) == []
    check_ledger(engine)


def test_what_the_courier_could_not_write_is_written_later(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when nothing else has finished since: the failure alone makes the group due."""
    monkeypatch.setattr(engine.store.dialect, "one_writer", False)
    monkeypatch.setattr(engine.store, "finish", fails_once(engine.store.finish, StoreUnavailable("restarting")))
    registry.job("quick")(lambda: None)
    job = engine.enqueue("quick")
    runner = engine._runner(None)
    assert runner.run_batch(1) == 1
    # A keeper that still has a beat to do may see to it first.
    until(lambda: runner.group.is_due or not runner.group.has_unwritten, "the courier to fail")
    runner.group.write_if_due()
    until(lambda: engine.get(job.name).status is Status.COMPLETED, "the outcome to be written")
    assert engine.get(job.name).attempts == 1
    check_ledger(engine)


def test_a_return_that_was_committed_unheard_of_does_not_return_the_next_claim(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that is given back is not counted, so that the next one has its number: both must not end by one outcome."""
    monkeypatch.setattr(engine.store.dialect, "one_writer", False)
    finish = engine.store.finish

    def finish_and_lose_the_answer(*arguments: Any) -> Any:
        finish(*arguments)
        monkeypatch.setattr(engine.store, "finish", finish)
        raise StoreUnavailable("the connection died after the commit")

    monkeypatch.setattr(engine.store, "finish", finish_and_lose_the_answer)
    runs: list[int] = []

    @registry.job("poll")
    def poll(ctx: JobContext) -> None:
        runs.append(ctx.attempt)
        if len(runs) == 1:
            raise Snooze(0)
        write(ctx)

    job = engine.enqueue("poll")
    runner = engine._runner(None)
    assert runner.run_batch(1) == 1
    until(lambda: runner.group.is_due or not runner.group.has_unwritten, "the courier to fail")
    engine.run_once()
    assert runs == [1, 1]
    assert effects(engine) == [job.name]
    after = engine.get(job.name)
    assert (after.status, after.attempts) == (Status.COMPLETED, 1)
    check_ledger(engine)


def test_an_outage_that_is_over_does_not_end_the_next_batch(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[BaseException] = [StoreUnavailable("restarting")]

    @registry.job("step", commit="Each", dedup_window=0)
    def step() -> None:
        if answers:
            raise answers.pop()

    jobs = [engine.enqueue("step") for _ in range(3)]
    with monkeypatch.context() as away, pytest.raises(StoreUnavailable):
        # The job is not to blame, and what became of it cannot be written either.
        away.setattr(engine.store.connections, "is_reachable", lambda: False)
        away.setattr(finishing, "finish", fails_once(finishing.finish, StoreUnavailable("restarting")))
        engine.run_once()
    assert engine.run_once() == len(jobs)
    for job in jobs:
        after = engine.get(job.name)
        assert (after.status, after.attempts) == (Status.COMPLETED, 1)
    check_ledger(engine)


def test_a_job_that_could_not_be_started_is_given_back(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch, clock: FrozenClock
) -> None:
    registry.job("quick")(lambda: None)
    registry.job("alone", commit="Each", dedup_window=0)(lambda: None)
    quick = engine.enqueue("quick")
    clock.advance(1)
    alone = [engine.enqueue("alone") for _ in range(2)]
    # Before the first of them starts, what has finished is written: this is where the database is away.
    monkeypatch.setattr(finishing, "finish", fails_once(finishing.finish, StoreUnavailable("restarting")))
    with pytest.raises(StoreUnavailable):
        engine.run_once()
    for job in alone:
        given_back = engine.get(job.name)
        assert (given_back.status, given_back.attempts, given_back.lease_owner) == (Status.QUEUED, 0, None)
    engine.run_once()
    for job in (quick, *alone):
        after = engine.get(job.name)
        assert (after.status, after.attempts) == (Status.COMPLETED, 1)
    check_ledger(engine)


# A caller's transaction ----------------------------------------------------------------------------------------------


@pytest.fixture
def postgresql_engine(postgresql_url: str, registry: Registry, clock: FrozenClock) -> Iterator[Engine]:
    """Where a second connection can write while a transaction is open."""
    with Engine.open(postgresql_url, clock, registry=registry) as engine:
        yield engine


def test_a_plain_enqueue_commits_nothing_of_the_transaction_around_it(
    postgresql_engine: Engine, registry: Registry
) -> None:
    registry.job("step", dedup_window=0)(lambda: None)
    with pytest.raises(ZeroDivisionError), postgresql_engine.transaction() as transaction:
        inside = postgresql_engine.enqueue("step", connection=transaction)
        plain = postgresql_engine.enqueue("step")
        raise ZeroDivisionError
    assert [job.name for job in postgresql_engine.find()] == [plain.name]
    assert inside.name != plain.name


def test_a_connection_to_another_file_is_refused_in_words(engine: Engine, registry: Registry, tmp_path: Any) -> None:
    registry.job("step")(lambda: None)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        with pytest.raises(JobEngineError, match=r"is to .*other\.db, but the engine's jobs are in .*jobs\.db"):
            engine.enqueue("step", connection=other)
        assert not other.in_transaction
    with closing(sqlite3.connect(":memory:")) as nowhere, pytest.raises(JobEngineError, match="a database in memory"):
        engine.enqueue("step", connection=nowhere)
    assert engine.count() == 0


def test_a_text_is_refused_as_a_connection(engine: Engine, registry: Registry, database_url: str) -> None:
    registry.job("step")(lambda: None)
    with pytest.raises(JobEngineError, match=r"'sqlite:.*' is no database connection\."):
        engine.enqueue("step", connection=database_url)
    assert engine.count() == 0


def test_a_claim_whose_answer_was_lost_is_given_back_uncharged(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.job("work")(lambda ctx: None)
    job = engine.enqueue("work")
    claim_batch = engine.store.claim_batch

    def claim_and_lose_the_answer(*arguments: Any) -> Any:
        claim_batch(*arguments)
        raise StoreUnavailable("the connection died after the commit")

    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable):
        patch.setattr(engine.store, "claim_batch", claim_and_lose_the_answer)
        engine.run_once()
    assert engine.get(job.name).status is Status.RUNNING
    assert engine.run_once() == 1
    done = engine.get(job.name)
    assert (done.status, done.attempts, done.lost) == (Status.COMPLETED, 1, 0)
