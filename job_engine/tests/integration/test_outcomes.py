"""What becomes of what a handler returns, reports or raises."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from typing import Any

import pytest

from job_engine import JobContext, PermanentError, Snooze, TransientError
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.tests.clock import FrozenClock
from job_engine.tests.ledger import check_ledger


def test_a_failure_schedules_the_next_try_in_the_future_and_counts(
    engine: Engine, registry: Registry, clock: FrozenClock
) -> None:
    @registry.job("call", max_attempts=3)
    def call() -> None:
        raise ConnectionError("refused")

    name = engine.enqueue("call").name
    for attempt in (1, 2):
        assert engine.run_once() == 1
        job = engine.get(name)
        assert (job.status, job.attempts, job.error_type) == (Status.FAILED, attempt, "Transient")
        assert job.run_after > clock.now and "refused" in (job.last_error or "")
        assert engine.run_once() == 0
        clock.advance((job.run_after - clock.now).total_seconds())
    assert engine.run_once() == 1
    job = engine.get(name)
    assert (job.status, job.attempts, job.ended_at) == (Status.DEAD_LETTER, 3, clock.now)
    assert [t.attempt for t in engine.history(name) if t.to_status is Status.RUNNING] == [1, 2, 3]
    check_ledger(engine)


def test_a_permanent_error_goes_to_dead_letter_at_once(engine: Engine, registry: Registry) -> None:
    @registry.job("call")
    def call() -> None:
        raise PermanentError("no such invoice")

    name = engine.enqueue("call").name
    engine.run_once()
    job = engine.get(name)
    assert (job.status, job.attempts, job.error_type) == (Status.DEAD_LETTER, 1, "Permanent")


def test_a_handler_may_say_when_to_try_again(engine: Engine, registry: Registry, clock: FrozenClock) -> None:
    @registry.job("call")
    def call() -> None:
        raise TransientError("busy", retry_after=1234)

    name = engine.enqueue("call").name
    engine.run_once()
    assert engine.get(name).run_after == clock.now + dt.timedelta(seconds=1234)


def test_snooze_runs_later_without_using_up_an_attempt(engine: Engine, registry: Registry, clock: FrozenClock) -> None:
    answers: list[Any] = [Snooze(60)] * 7 + ["done"]

    @registry.job("poll", max_attempts=1)
    def poll(ctx: JobContext) -> str:
        assert ctx.attempt == 1
        answer = answers.pop(0)
        if isinstance(answer, Snooze):
            raise answer
        return answer

    name = engine.enqueue("poll").name
    for _ in range(7):
        assert engine.run_once() == 1
        job = engine.get(name)
        assert (job.status, job.attempts) == (Status.PENDING, 0)
        assert job.run_after == clock.now + dt.timedelta(seconds=60)
        assert engine.run_once() == 0
        clock.advance(60)
    engine.run_once()
    assert engine.get(name).status is Status.COMPLETED
    check_ledger(engine)


@pytest.mark.parametrize("seconds", [0, -5])
def test_a_snooze_of_no_time_runs_again_in_the_next_batch(engine: Engine, registry: Registry, seconds: float) -> None:
    runs: list[int] = []

    @registry.job("poll")
    def poll() -> None:
        runs.append(1)
        if len(runs) < 3:
            raise Snooze(seconds)

    engine.enqueue("poll")
    assert engine.run_once() == 3


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


ERRORS: dict[str, Callable[[], BaseException]] = {
    "NUL": lambda: ValueError("a\x00b"),
    "lone surrogate": lambda: ValueError("a\udc80b"),
    "long": lambda: ValueError("x" * 1_000_000),
    "emoji": lambda: ValueError("\U0001f600" * 600),
    "percent": lambda: ValueError("100% %s {job} %(x)s"),
    "unprintable": Unprintable,
    "no arguments": KeyError,
    "snooze in words": lambda: Snooze(1, "a\x00b\udc80"),
    "snooze that is no number": lambda: Snooze(float("nan")),
    "snooze for ever": lambda: Snooze(float("inf")),
    "snooze with a wrong type": lambda: Snooze("soon", "later"),  # type: ignore[arg-type]
    "retry_after with a wrong type": lambda: TransientError("later", retry_after="soon"),  # type: ignore[arg-type]
    "retry_after that is no number": lambda: TransientError("later", retry_after=float("nan")),
    "retry_after for ever": lambda: TransientError("later", retry_after=float("inf")),
    "retry_after in the past": lambda: TransientError("later", retry_after=-1e9),
    "exit": lambda: SystemExit(3),
    "generator exit": GeneratorExit,
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_whatever_is_raised_is_recorded_and_hurts_no_neighbour(
    engine: Engine, registry: Registry, error: Callable[[], BaseException]
) -> None:
    @registry.job("raise")
    def raise_it() -> None:
        raise error()

    registry.job("fine", dedup_window=0)(lambda: None)
    before = engine.enqueue("fine").name
    bad = engine.enqueue("raise").name
    after = engine.enqueue("fine").name
    assert engine.run_once(3) == 3
    assert [engine.get(n).status for n in (before, after)] == [Status.COMPLETED] * 2
    job = engine.get(bad)
    assert job.status in (Status.FAILED, Status.DEAD_LETTER, Status.PENDING, Status.QUEUED)
    assert job.reason or job.last_error
    check_ledger(engine)


def test_a_handler_that_exits_does_not_take_the_worker_with_it(engine: Engine, registry: Registry) -> None:
    registry.job("exit")(lambda: sys.exit(1))
    registry.job("fine")(lambda: None)
    names = [engine.enqueue("exit").name, engine.enqueue("fine").name]
    assert engine.run_once() == 2
    assert [engine.get(n).status for n in names] == [Status.FAILED, Status.COMPLETED]


RESULTS = {
    "not JSON": object(),
    "too large": "x" * 70_000,
    "NaN": float("nan"),
    "a generator": (i for i in range(3)),
    "lone surrogate": "\udc80",
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_a_result_that_cannot_be_stored_is_an_error_of_the_handler(
    engine: Engine, registry: Registry, result: Any
) -> None:
    registry.job("answer")(lambda: result)
    name = engine.enqueue("answer").name
    engine.run_once()
    job = engine.get(name)
    assert job.status is Status.DEAD_LETTER and "result" in (job.last_error or "")


@pytest.mark.parametrize("processed", [2**31, 2**63, -1, "many", 1.5, None], ids=repr)
def test_a_strange_count_does_not_keep_a_job_from_ending(engine: Engine, registry: Registry, processed: Any) -> None:
    @registry.job("count")
    def count(ctx: JobContext) -> None:
        ctx.report(processed=processed, failed=0)

    registry.job("fine")(lambda: None)
    names = [engine.enqueue("count").name, engine.enqueue("fine").name]
    engine.run_once()
    assert engine.get(names[1]).status is Status.COMPLETED
    assert engine.get(names[0]).status in (Status.COMPLETED, Status.FAILED, Status.DEAD_LETTER)


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_counts_and_progress_are_kept_however_the_attempt_ends(engine: Engine, registry: Registry, ends: str) -> None:
    @registry.job("count")
    def count(ctx: JobContext) -> None:
        ctx.report(processed=11, failed=2)
        ctx.progress(45, "Page 5\x00 of 11")
        if ends == "badly":
            raise ConnectionError("gone")

    name = engine.enqueue("count").name
    engine.run_once()
    last = engine.history(name)[-1]
    assert (last.processed, last.failed) == (11, 2)
    job = engine.get(name)
    assert job.progress_message == "Page 5 of 11"
    assert job.progress == (100 if ends == "well" else 45)
