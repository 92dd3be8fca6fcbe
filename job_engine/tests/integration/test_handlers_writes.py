"""What a handler writes through ctx.connection is committed with the job's completion, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from job_engine import JobContext
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.group import Group
from job_engine.store import finishing
from job_engine.tests.clock import FrozenClock
from job_engine.tests.integration.conftest import OpenEngine
from job_engine.tests.ledger import check_ledger

LATER = 1000.0
TakeAway = Callable[[JobContext], None]


@pytest.fixture
def engine(open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Groups that are written only when the batch ends, so that several jobs share one for certain."""
    monkeypatch.setattr(Group, "is_due", property(lambda self: False))
    engine = open_engine(group_seconds=0.3, batch_seconds=100.0)
    with engine.store.session() as session:
        session.execute("CREATE TABLE effect (job varchar(40) NOT NULL)")
    return engine


def write(ctx: JobContext) -> None:
    cursor = ctx.connection.cursor()
    cursor.execute(f"INSERT INTO effect (job) VALUES ('{ctx.name}')")
    cursor.close()


def effects(engine: Engine) -> list[str]:
    with engine.store.session() as session:
        return sorted(session.column("SELECT job FROM effect"))


@pytest.fixture
def take_away(open_engine: OpenEngine) -> TakeAway:
    """Another process takes the job from the worker that runs it."""
    other = open_engine()

    def take(ctx: JobContext) -> None:
        assert other.store.end_lost_attempt(ctx.name, ctx.job.lease_owner or "", ctx.attempt)

    return take


def test_writes_are_committed_with_the_completion(engine: Engine, registry: Registry) -> None:
    registry.job("write")(lambda ctx: write(ctx))
    jobs = [engine.enqueue("write", dedup_window=0) for _ in range(5)]
    assert engine.run_once() == 5
    assert effects(engine) == sorted(job.name for job in jobs)
    check_ledger(engine)


@pytest.mark.parametrize("error", [ValueError("no"), ConnectionError("gone"), SystemExit(1)], ids=repr)
def test_a_failing_handler_loses_its_own_writes_and_its_neighbours_keep_theirs(
    engine: Engine, registry: Registry, error: BaseException
) -> None:
    runs: list[str] = []

    @registry.job("write")
    def write_and_maybe_fail(ctx: JobContext, fail: bool, n: int) -> None:
        runs.append(ctx.name)
        write(ctx)
        ctx.enqueue("follow", {"of": ctx.name})
        if fail:
            raise error

    registry.job("follow", queue="elsewhere")(lambda **params: None)
    good = [engine.enqueue("write", {"fail": False, "n": n}) for n in (1, 3)]
    bad = engine.enqueue("write", {"fail": True, "n": 2})
    engine.run_once(queues=["default"])
    assert effects(engine) == sorted(job.name for job in good)
    assert sorted(job.params_json for job in engine.find(job_type="follow")) == sorted(
        f'{{"of":"{j.name}"}}' for j in good
    )
    assert sorted(runs) == sorted(job.name for job in (*good, bad))
    assert engine.get(bad.name).status in (Status.FAILED, Status.DEAD_LETTER)
    check_ledger(engine)


def test_a_statement_that_the_database_refuses_hurts_its_own_job_only(engine: Engine, registry: Registry) -> None:
    """Also when the handler goes on as if nothing had happened: on PostgreSQL its transaction is broken by then."""
    runs: list[str] = []

    @registry.job("write")
    def write_well(ctx: JobContext, n: int) -> None:
        runs.append(ctx.name)
        write(ctx)

    @registry.job("broken", max_attempts=1)
    def write_nonsense(ctx: JobContext) -> None:
        runs.append(ctx.name)
        write(ctx)
        try:
            ctx.connection.cursor().execute("INSERT INTO nowhere VALUES (1)")
        except Exception:
            pass

    first = engine.enqueue("write", {"n": 1})
    broken = engine.enqueue("broken")
    last = engine.enqueue("write", {"n": 2})
    engine.run_once()
    expected = {first.name, last.name}
    if engine.get(broken.name).status is Status.COMPLETED:
        expected.add(broken.name)
    assert set(effects(engine)) == expected
    assert sorted(runs) == sorted([first.name, broken.name, last.name]), "a neighbour had to run again"
    check_ledger(engine)


def test_a_handler_cannot_commit_or_roll_back_itself(engine: Engine, registry: Registry) -> None:
    @registry.job("write", max_attempts=1)
    def commit(ctx: JobContext, how: str) -> None:
        write(ctx)
        getattr(ctx.connection, how)()

    names = [engine.enqueue("write", {"how": how}).name for how in ("commit", "rollback")]
    engine.run_once()
    assert effects(engine) == []
    for name in names:
        assert "the engine" in (engine.get(name).last_error or "").lower()


def test_a_lost_lease_rolls_the_writes_back(engine: Engine, registry: Registry, take_away: TakeAway) -> None:
    runs: list[int] = []

    @registry.job("write")
    def lose_the_lease(ctx: JobContext) -> None:
        runs.append(ctx.attempt)
        if ctx.attempt == 1:
            take_away(ctx)
        write(ctx)

    name = engine.enqueue("write").name
    engine.run_once(1)
    if runs == [1]:
        assert effects(engine) == []
        assert engine.get(name).status is Status.QUEUED
        engine.run_once()
    assert (runs, effects(engine)) == ([1, 2], [name])
    check_ledger(engine)


def test_a_lost_lease_in_a_group_leaves_each_job_with_one_effect(
    engine: Engine, registry: Registry, take_away: TakeAway
) -> None:
    """The group's transaction goes with the lost job; what its neighbours wrote must come back, once."""

    @registry.job("write")
    def write_well(ctx: JobContext, n: int) -> None:
        write(ctx)

    @registry.job("lose")
    def lose_the_lease(ctx: JobContext) -> None:
        if ctx.attempt == 1:
            take_away(ctx)
        write(ctx)

    first = engine.enqueue("lose")
    others = [engine.enqueue("write", {"n": n}) for n in range(4)]
    while engine.run_once():
        pass
    assert effects(engine) == sorted(job.name for job in (first, *others))
    assert engine.count(status=Status.COMPLETED) == 5
    check_ledger(engine)


def test_a_checkpoint_behind_a_neighbour_that_lost_its_lease_commits_nothing_of_it(
    engine: Engine, registry: Registry, take_away: TakeAway
) -> None:
    """save_checkpoint commits the group. A lost neighbour in it must not be committed along, now or by a later write."""

    @registry.job("lose")
    def lose_the_lease(ctx: JobContext) -> None:
        if ctx.attempt == 1:
            take_away(ctx)
        write(ctx)

    @registry.job("save")
    def save(ctx: JobContext) -> None:
        write(ctx)
        ctx.checkpoint["at"] = 1
        ctx.save_checkpoint()

    lost, saver = engine.enqueue("lose"), engine.enqueue("save")
    engine.run_once(2)
    for job in (lost, saver):
        completed = engine.get(job.name).status is Status.COMPLETED
        assert effects(engine).count(job.name) == int(completed), f"{engine.get(job.name).job_type}: {completed}"
    check_ledger(engine)


def test_a_checkpoint_commits_what_was_written_before_it(
    engine: Engine, registry: Registry, clock: FrozenClock
) -> None:
    @registry.job("write")
    def two_steps(ctx: JobContext) -> None:
        if not ctx.checkpoint:
            write(ctx)
            ctx.checkpoint["first"] = True
            ctx.save_checkpoint()
        write(ctx)
        if ctx.attempt == 1:
            raise ConnectionError("in the second step")

    name = engine.enqueue("write").name
    engine.run_once()
    assert effects(engine) == [name]
    clock.advance(LATER)
    engine.run_once()
    assert effects(engine) == [name, name]
    assert engine.get(name).status is Status.COMPLETED


def test_a_checkpoint_without_the_lease_stops_the_handler_and_writes_nothing(
    engine: Engine, registry: Registry, take_away: TakeAway
) -> None:
    went_on: list[bool] = []

    @registry.job("write", max_attempts=1)
    def save(ctx: JobContext, connection: bool) -> None:
        take_away(ctx)
        if connection:
            write(ctx)
        ctx.checkpoint["a"] = 1
        ctx.save_checkpoint()
        went_on.append(True)

    for connection in (False, True):
        name = engine.enqueue("write", {"connection": connection}).name
        engine.run_once(1)
        job = engine.get(name)
        assert (job.status, job.checkpoint_json, went_on, effects(engine)) == (Status.DEAD_LETTER, None, [], [])
    check_ledger(engine)


@pytest.mark.parametrize("how", ["ctx", "engine"])
def test_a_job_enqueued_by_a_handler_exists_only_if_that_completes(
    engine: Engine, registry: Registry, clock: FrozenClock, how: str
) -> None:
    registry.job("follow", queue="elsewhere")(lambda **params: None)

    @registry.job("lead")
    def lead(ctx: JobContext) -> None:
        enqueue: Any = ctx.enqueue if how == "ctx" else engine.enqueue
        enqueue("follow", {"attempt": ctx.attempt})
        if ctx.attempt == 1:
            raise ConnectionError("gone")

    engine.enqueue("lead", organization="ACME", user="u@example.com")
    engine.run_once(queues=["default"])
    assert engine.count(job_type="follow") == 0
    clock.advance(LATER)
    engine.run_once(queues=["default"])
    (follow,) = engine.find(job_type="follow")
    assert follow.params == {"attempt": 2}
    if how == "ctx":
        assert (follow.organization, follow.user) == ("ACME", "u@example.com")


def test_a_commit_that_fails_gives_the_group_back_and_no_effect_is_doubled(
    engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.job("write")(lambda ctx: write(ctx))
    names = [engine.enqueue("write", dedup_window=0).name for _ in range(3)]
    finish = finishing.finish
    failures = [RuntimeError("a deadlock, say")] * 2

    def fail_first(*arguments: Any) -> set[str]:
        lost = finish(*arguments)
        if failures:
            raise failures.pop()
        return lost

    monkeypatch.setattr(finishing, "finish", fail_first)
    while engine.run_once():
        pass
    assert effects(engine) == sorted(names)
    assert engine.count(status=Status.COMPLETED) == 3
    assert {engine.get(name).attempts for name in names} == {1}
    check_ledger(engine)
