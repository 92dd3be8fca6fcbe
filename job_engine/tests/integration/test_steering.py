"""Cancel, retry, prune, explain: what an operator does by hand."""

from __future__ import annotations

import datetime as dt
import re
import threading
from datetime import timedelta
from typing import Any

import pytest

from job_engine import JobContext, Snooze
from job_engine.core.errors import JobEngineError, JobNotFound
from job_engine.core.job import Outcome
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.store import finishing
from job_engine.store.workers import Worker
from job_engine.tests.clock import FrozenClock
from job_engine.tests.integration.conftest import OpenEngine
from job_engine.tests.ledger import check_ledger

OPERATOR = "operator@example.com"


@pytest.fixture(autouse=True)
def types(registry: Registry) -> None:
    registry.job("work", dedup_window=0)(lambda **params: None)

    @registry.job("fail", dedup_window=0, max_attempts=1)
    def fail(**params: Any) -> None:
        raise ConnectionError("refused by the printer")


def dead(engine: Engine, n: int = 1, **options: Any) -> list[str]:
    names = [engine.enqueue("fail", {"n": i}, **options).name for i in range(n)]
    engine.run_once(n)
    assert {engine.get(name).status for name in names} == {Status.DEAD_LETTER}
    return names


# Cancel


def test_a_handler_learns_that_its_job_was_canceled(
    engine: Engine, open_engine: OpenEngine, registry: Registry
) -> None:
    other = open_engine()
    went_on: list[bool] = []

    @registry.job("long")
    def long_work(ctx: JobContext) -> None:
        assert other.cancel(ctx.name, OPERATOR, "wrong month").status is Status.RUNNING
        ctx.check_canceled()
        went_on.append(True)

    name = engine.enqueue("long").name
    child = engine.enqueue("work", depends_on=name).name
    engine.run_once()
    job = engine.get(name)
    assert (went_on, job.status, job.canceled_by) == ([], Status.CANCELED, OPERATOR)
    assert engine.get(child).status is Status.CANCELED
    check_ledger(engine)


@pytest.mark.parametrize("how", ["fails", "snoozes"])
def test_a_job_that_somebody_wants_canceled_does_not_run_again(
    engine: Engine, open_engine: OpenEngine, registry: Registry, how: str
) -> None:
    other = open_engine()

    @registry.job("long")
    def long_work(ctx: JobContext) -> None:
        other.cancel(ctx.name, OPERATOR)
        raise ConnectionError("gone") if how == "fails" else Snooze(60)

    name = engine.enqueue("long").name
    engine.run_once()
    assert engine.get(name).status is Status.CANCELED


def test_a_cancel_that_comes_while_the_failure_is_written_is_not_forgotten(
    engine: Engine, open_engine: OpenEngine, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request arrives after the writer has looked for one. Whoever is second must see the other."""
    name = engine.enqueue("work").name
    engine.store.claim_batch("w1", 1)
    other = open_engine()
    canceled = threading.Event()

    def cancel() -> None:
        try:
            other.cancel(name, OPERATOR)
        finally:
            other.close()
            canceled.set()

    thread = threading.Thread(target=cancel, daemon=True)
    write = finishing._write

    def let_the_request_come_and_write(*arguments: Any) -> Any:
        thread.start()
        canceled.wait(0.2)  # if it can be written now it is; otherwise it waits for this transaction
        return write(*arguments)

    monkeypatch.setattr(finishing, "_write", let_the_request_come_and_write)
    engine.store.mark_retry(name, "w1", 1, clock.now, "gone")
    thread.join(30)
    assert engine.get(name).status is Status.CANCELED


def test_a_job_that_completed_before_it_heard_of_the_cancel_is_completed(
    engine: Engine, open_engine: OpenEngine, registry: Registry
) -> None:
    other = open_engine()
    registry.job("long")(lambda ctx: other.cancel(ctx.name) and None)
    name = engine.enqueue("long").name
    child = engine.enqueue("work", depends_on=name).name
    engine.run_once()
    assert (engine.get(name).status, engine.get(child).status) == (Status.COMPLETED, Status.COMPLETED)
    check_ledger(engine)


# Retry


def test_a_retried_job_has_all_its_attempts_again(engine: Engine, clock: FrozenClock) -> None:
    (name,) = dead(engine)
    clock.advance(100)
    job = engine.retry(name, OPERATOR, run_after=30)
    assert (job.status, job.attempts, job.run_after) == (Status.PENDING, 0, clock.now + timedelta(seconds=30))
    assert engine.run_once() == 0
    clock.advance(30)
    assert engine.run_once() == 1
    assert [t.reason for t in engine.history(name) if t.actor == OPERATOR] == ["retried by hand"]
    check_ledger(engine)


def test_many_are_retried_as_the_plan_said(engine: Engine) -> None:
    acme = dead(engine, 3, organization="ACME")
    dead(engine, 2, organization="Globex")
    canceled = engine.enqueue("work", organization="ACME").name
    engine.cancel(canceled)
    plan = engine.plan_retry(organization="ACME")
    assert (plan.total, plan.by_type, plan.by_organization) == (3, {"fail": 3}, {"ACME": 3})
    assert sum(plan.by_error.values()) == 3 and "refused by the printer" in next(iter(plan.by_error))
    assert engine.count(status=Status.DEAD_LETTER) == 5  # a plan changes nothing
    seen: list[int] = []
    assert engine.retry_many(by=OPERATOR, organization="ACME", progress=seen.append) == 3
    assert sum(seen) == 3
    assert {engine.get(name).status for name in acme} == {Status.QUEUED}
    assert engine.count(status=Status.DEAD_LETTER, organization="Globex") == 2
    assert engine.get(canceled).status is Status.CANCELED
    assert engine.retry_many(status=[Status.CANCELED, "Dead Letter"]) == 3
    check_ledger(engine)


def test_many_are_retried_spread_over_time(engine: Engine, clock: FrozenClock) -> None:
    names = dead(engine, 5)
    assert engine.retry_many(spread_seconds=400) == 5
    waits = [(engine.get(name).run_after - clock.now).total_seconds() for name in names]
    assert waits == [0, 100, 200, 300, 400]
    for expected in (1, 1, 1, 1, 1):
        assert engine.run_once() == expected
        clock.advance(100)
    assert engine.run_once() == 0


@pytest.mark.parametrize("status", ["Completed", "Running", "Queued", "Failed"])
def test_what_cannot_be_retried_is_refused_in_words(engine: Engine, status: str) -> None:
    with pytest.raises(JobEngineError, match=status):
        engine.retry_many(status=status)
    with pytest.raises(JobNotFound, match="nobody"):
        engine.retry("nobody")


def test_jobs_are_found_by_when_they_were_made_in_any_time_zone(engine: Engine, clock: FrozenClock) -> None:
    early = engine.enqueue("work").name
    clock.advance(3600)
    edge = clock.now.astimezone(dt.timezone(timedelta(hours=-7)))
    late = engine.enqueue("work").name
    assert [job.name for job in engine.find(created_after=edge)] == [late]
    assert [job.name for job in engine.find(created_before=edge)] == [early]


def test_an_error_is_found_by_its_words_taken_literally(engine: Engine, registry: Registry) -> None:
    for text in ("100% of it", "100x of it", "a_b!", "axb!"):

        def fail(message: str = text) -> None:
            raise ConnectionError(message)

        registry.job(f"fail{len(registry)}", max_attempts=1)(fail)
        engine.enqueue(f"fail{len(registry) - 1}")
    engine.run_once()
    assert [engine.count(error_contains=text) for text in ("100%", "a_b!", "of it", "%")] == [1, 1, 2, 1]


# Prune


def test_prune_goes_through_all_batches_and_the_counters_stay_right(engine: Engine, clock: FrozenClock) -> None:
    engine.enqueue_many("work", [{"n": n} for n in range(1100)], organization="ACME")
    assert engine.run_once(2000) == 1100
    clock.advance(86_400)
    kept = engine.enqueue("work").name
    engine.run_once()
    seen: list[int] = []
    assert engine.prune(older_than_days=0.5, progress=seen.append) == 1100
    assert sum(seen) == 1100 and max(seen) < 1100
    assert [job.name for job in engine.find()] == [kept]
    with engine.store.session() as session:
        for table in ("log", "dependency"):
            left = session.value(f"SELECT COUNT(*) FROM {{{table}}} WHERE job <> %s", (kept,))
            assert left == 0, table
    check_ledger(engine)
    assert engine.metrics().throughput > 0


def test_what_has_not_ended_cannot_be_pruned(engine: Engine) -> None:
    with pytest.raises(JobEngineError, match="Running"):
        engine.prune(statuses=["Running"])


def test_a_dependent_does_not_run_because_its_unfinished_parent_was_forgotten(
    engine: Engine, clock: FrozenClock
) -> None:
    """Child canceled by hand, parent in Dead Letter, both old: only the parent's state has run out when the child returns."""
    (parent,) = dead(engine)
    child = engine.enqueue("work", depends_on=parent).name
    engine.cancel(child)
    clock.advance(40 * 86_400)
    engine.prune(statuses=[Status.DEAD_LETTER])
    try:
        engine.retry(child)
    except JobEngineError:
        return  # it may be refused
    assert engine.run_once() == 0
    assert engine.get(child).status is not Status.COMPLETED


# Explain

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"


def sentence(engine: Engine, name: str, pattern: str) -> None:
    text = engine.explain(name)
    assert re.search(pattern, text), text
    assert text.endswith("."), text
    assert "None" not in text and "Status." not in text, text


def test_explain_says_what_a_pending_job_waits_for(engine: Engine, registry: Registry, clock: FrozenClock) -> None:
    sentence(engine, engine.enqueue("work", run_after=60).name, f"Not due yet; it will be queued at {TIME}")
    (parent,) = dead(engine)
    child = engine.enqueue("work", depends_on=[parent, engine.enqueue("work").name]).name
    sentence(engine, child, f"Waiting for job {parent}, which is in Dead Letter since {TIME}.*also waits for 1 more")

    @registry.job("poll")
    def poll() -> None:
        raise Snooze(60, "the printer is cold")

    snoozed = engine.enqueue("poll").name
    engine.run_once()
    sentence(engine, snoozed, r"Not due yet \(the printer is cold\)")
    clock.advance(61)
    sentence(engine, snoozed, "Due since .*next tick")


def test_explain_says_why_a_queued_job_is_not_taken(engine: Engine, clock: FrozenClock) -> None:
    name = engine.enqueue("work", organization="ACME", queue="mail").name
    engine.store.sign_in(Worker("w1", "host", 1, ("default",), clock.now, clock.now))
    sentence(engine, name, "No worker that serves queue mail has been seen lately: start one with `job-engine work`")
    engine.store.sign_in(Worker("w2", "host", 2, None, clock.now, clock.now))
    sentence(engine, name, f"Queued since {TIME}.*next free worker")
    for scope, target in (("type", "work"), ("queue", "mail"), ("organization", "ACME"), ("everything", "")):
        engine.pause(scope, target, OPERATOR, "out of paper")
        sentence(engine, name, rf"{scope}.* is paused by {OPERATOR} since {TIME} \(out of paper\)")
        engine.resume(scope, target)
    engine.limit("organization", "ACME", concurrency=2, rate="10/m")
    sentence(engine, name, "organization ACME is limited to 2 at once and 10 in 60 s")


def test_explain_says_how_far_a_running_job_is(engine: Engine, clock: FrozenClock) -> None:
    name = engine.enqueue("work").name
    engine.store.claim_batch("w1", 1)
    sentence(engine, name, rf"Running on w1 since {TIME} \(attempt 1 of 5\)")
    engine.store.save_progress(name, "w1", 1, 45, "Page 5 of 11")
    sentence(engine, name, "45 % done: Page 5 of 11")
    clock.advance(1000)
    sentence(engine, name, "lease expired.*the next tick will rescue it")
    engine.cancel(name, OPERATOR)
    sentence(engine, name, f"{OPERATOR} asked to cancel it at {TIME}")


def test_explain_says_when_a_failed_job_is_tried_again(engine: Engine, registry: Registry, clock: FrozenClock) -> None:
    @registry.job("call", max_attempts=5)
    def call() -> None:
        raise ConnectionError("refused")

    name = engine.enqueue("call").name
    engine.run_once()
    sentence(engine, name, rf"Failed 1 of 5 attempts \(ConnectionError\); next try at {TIME}")
    late = engine.enqueue("work").name
    engine.store.claim_batch("w1", 1)
    due = clock.now + timedelta(seconds=9)
    engine.store.finish(
        "w1", [Outcome(late, 1, Status.TIMED_OUT, 1.0, "work", error="JobTimeout: too long", run_after=due)]
    )
    sentence(engine, late, rf"Timed out in 1 of 5 attempts \(JobTimeout\); next try at {TIME}")


def test_explain_says_how_a_job_ended(engine: Engine) -> None:
    done = engine.enqueue("work").name
    engine.run_once()
    sentence(engine, done, f"Completed at {TIME} in attempt 1 of 5")
    gone = engine.enqueue("work").name
    engine.cancel(gone, OPERATOR, "not needed")
    sentence(engine, gone, rf"Canceled by {OPERATOR} at {TIME}: not needed")
    (broken,) = dead(engine)
    engine.enqueue("work", depends_on=broken)
    engine.cancel(engine.enqueue("work", depends_on=broken).name)
    sentence(engine, broken, f"In Dead Letter since {TIME} after 1 of 1 attempts.*refused by the printer")
    sentence(engine, broken, r"\b1 dependent")
