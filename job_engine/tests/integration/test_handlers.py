"""What a handler gets, and what becomes of what it returns or raises."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from job_engine import JobContext, PermanentError, Snooze, TransientError
from job_engine.core.errors import InvalidJob, InvalidParams, PayloadTooLarge, UnknownJobType
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.store import inserting
from job_engine.store.inserting import NewJob
from job_engine.store.session import Session
from job_engine.tests.clock import FrozenClock
from job_engine.tests.integration.conftest import OpenEngine
from job_engine.tests.ledger import check_ledger


def add_numbers(a: int, b: int) -> int:
    """A function of a trusted caller that is no registered type."""
    return a + b


def test_the_handler_gets_its_payload(engine: Engine, registry: Registry) -> None:
    got: list[Any] = []

    @registry.job("pdf")
    def pdf(ctx: JobContext, template: str, dates: list[str], price: str) -> dict[str, Any]:
        got.append((ctx.name, ctx.attempt, ctx.organization, ctx.user, template, dates, price))
        return {"file": "a.pdf", "at": dt.date(2026, 1, 2)}

    params = {"template": "été \U0001f600 \x00", "dates": [dt.date(2026, 1, 1)], "price": Decimal("1.50")}
    job = engine.enqueue("pdf", params, organization="ACME", user="u@example.com")
    assert engine.run_once() == 1
    assert got == [(job.name, 1, "ACME", "u@example.com", params["template"], ["2026-01-01"], "1.5")]
    done = engine.get(job.name)
    assert (done.status, done.result) == (Status.COMPLETED, {"at": "2026-01-02", "file": "a.pdf"})
    assert engine.run_once() == 0


def test_a_trusted_function_runs_by_its_path(engine: Engine) -> None:
    by_function = engine.enqueue(add_numbers, {"a": 1, "b": 2})
    by_path = engine.enqueue(f"{__name__}.add_numbers", {"a": 2, "b": 2})
    engine.run_once()
    assert [engine.get(j.name).result for j in (by_function, by_path)] == [3, 4]


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


def test_bad_arguments_are_permanent_and_say_what_does_not_fit(engine: Engine, registry: Registry) -> None:
    @registry.job("pdf")
    def pdf(ctx: JobContext, template: str) -> None:
        """Needs a template."""

    jobs = [engine.enqueue("pdf", p) for p in ({}, {"template": "a", "colour": 1}, {"template": "a", "ctx": 1})]
    engine.run_once()
    for job, word in zip(jobs, ("template", "colour", "ctx"), strict=True):
        ended = engine.get(job.name)
        assert (ended.status, ended.error_type) == (Status.DEAD_LETTER, "Permanent")
        assert word in (ended.last_error or "")


def test_an_unknown_type_is_refused_at_enqueue_and_permanent_at_run(
    engine: Engine, open_engine: OpenEngine, registry: Registry
) -> None:
    with pytest.raises(UnknownJobType, match="pfd"):
        engine.enqueue("pfd")
    assert engine.count() == 0
    registry.job("known")(lambda: None)
    name = engine.enqueue("known").name
    path = engine.enqueue(add_numbers, {"a": 1, "b": 1}).name
    other = open_engine(registry=Registry())
    with other.store.transaction() as session:
        session.execute("UPDATE {job} SET handler = 'job_engine.nowhere.f', job_type = 'x.y' WHERE name = %s", (path,))
    assert other.run_once() == 2
    for ended in (engine.get(name), engine.get(path)):
        assert (ended.status, ended.error_type) == (Status.DEAD_LETTER, "Permanent")
    assert "known" in (engine.get(name).last_error or "") and "nowhere" in (engine.get(path).last_error or "")


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "nonsense", '{"a": NaN}', "\U0001f600", '"x"', "[" * 5000])
def test_an_undecodable_payload_in_the_table_goes_to_dead_letter(engine: Engine, registry: Registry, text: str) -> None:
    registry.job("work", dedup_window=0)(lambda **params: None)
    bad, good = engine.enqueue("work").name, engine.enqueue("work").name
    with engine.store.transaction() as session:
        session.execute("UPDATE {job} SET params = %s WHERE name = %s", (text, bad))
    engine.run_once()
    job = engine.get(bad)
    assert (job.status, job.error_type) == (Status.DEAD_LETTER, "Permanent")
    assert "params" in (job.last_error or "")
    assert engine.get(good).status is Status.COMPLETED


PAYLOADS = {
    "no object": ([1], InvalidParams),
    "a set of objects": ({"a": {object()}}, InvalidParams),
    "a function": ({"f": print}, InvalidParams),
    "too large": ({"a": "x" * 70_000}, PayloadTooLarge),
    "NaN": ({"a": float("nan")}, InvalidParams),
    "lone surrogate": ({"a": "\ud800"}, InvalidParams),
    "itself": (lambda d: (d.update(a=d), d)[1], InvalidParams),
}


@pytest.mark.parametrize(("params", "error"), PAYLOADS.values(), ids=PAYLOADS)
def test_a_payload_that_cannot_be_stored_writes_nothing(
    engine: Engine, registry: Registry, params: Any, error: type[Exception]
) -> None:
    registry.job("work")(lambda **params: None)
    params = params({}) if callable(params) else params
    with pytest.raises(error, match="params"):
        engine.enqueue("work", params)
    with pytest.raises(error):
        engine.enqueue_many("work", [{"fine": 1}, params, {"fine": 2}])
    assert engine.count() == 0


def test_many_jobs_are_made_all_or_none(engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.job("work")(lambda **params: None)
    assert engine.enqueue_many("work", []) == []
    answers = engine.enqueue_many("work", ({"n": n} for n in range(1203)))
    assert (len({a.name for a in answers}), engine.count()) == (1203, 1203)
    assert [a.params for a in answers] == [{"n": n} for n in range(1203)]
    insert = inserting._insert_new
    batches: list[int] = []

    def fail_at_the_second(session: Session, new: Sequence[NewJob]) -> set[str]:
        batches.append(len(new))
        if len(batches) == 2:
            raise RuntimeError("in the middle")
        return insert(session, new)

    monkeypatch.setattr(inserting, "_insert_new", fail_at_the_second)
    with pytest.raises(RuntimeError, match="middle"):
        engine.enqueue_many("work", [{"m": n} for n in range(1203)])
    assert engine.count() == 1203


NONSENSE: dict[str, dict[str, Any]] = {
    "timeout below zero": {"timeout": -1},
    "timeout too large": {"timeout": 10**12},
    "timeout of a fraction": {"timeout": 0.4},
    "timeout in words": {"timeout": "soon"},
    "no attempt": {"max_attempts": 0},
    "too many attempts": {"max_attempts": 10**12},
    "priority": {"priority": "Urgent"},
    "queue": {"queue": "a b"},
    "organization too long": {"organization": "x" * 141},
    "organization with NUL": {"organization": "a\x00"},
    "organization with a lone surrogate": {"organization": "a\ud800"},
    "organization of a wrong type": {"organization": 5},
    "dedup_key too long": {"dedup_key": "x" * 141},
    "an empty dedup_key": {"dedup_key": ""},
    "dedup_window below zero": {"dedup_window": -1},
    "dedup_window that is no number": {"dedup_window": float("nan")},
    "run_after that is no number": {"run_after": float("nan")},
    "run_after never": {"run_after": float("inf")},
    "run_after beyond the calendar": {"run_after": 1e12},
    "run_after in words": {"run_after": "tomorrow"},
    "a misspelt option": {"prioritty": "High"},
    "no name of a parent": {"depends_on": [""]},
    "a parent of a wrong type": {"depends_on": 7},
}


@pytest.mark.parametrize("options", NONSENSE.values(), ids=NONSENSE)
def test_options_that_make_no_sense_are_refused_in_words(
    engine: Engine, registry: Registry, options: dict[str, Any]
) -> None:
    registry.job("work")(lambda **params: None)
    with pytest.raises((InvalidJob, TypeError)):
        engine.enqueue("work", **options)
    assert engine.count() == 0


def test_a_timeout_of_zero_is_no_limit(engine: Engine, registry: Registry) -> None:
    seen: list[Any] = []

    @registry.job("long", timeout=0)
    def long_work() -> None:
        from job_engine.attempt import current

        attempt, _ = current()
        seen.append(attempt.deadline if attempt else "none")

    engine.enqueue("long")
    engine.enqueue("long", {}, timeout=0, dedup_window=0)
    assert engine.run_once() == 2
    assert seen == [None, None]


def test_a_handler_that_exits_does_not_take_the_worker_with_it(engine: Engine, registry: Registry) -> None:
    registry.job("exit")(lambda: sys.exit(1))
    registry.job("fine")(lambda: None)
    names = [engine.enqueue("exit").name, engine.enqueue("fine").name]
    assert engine.run_once() == 2
    assert [engine.get(n).status for n in names] == [Status.FAILED, Status.COMPLETED]


def test_a_checkpoint_survives_a_failure_and_a_retry_by_hand(
    engine: Engine, registry: Registry, clock: FrozenClock
) -> None:
    seen: list[int] = []

    @registry.job("pages", max_attempts=2)
    def pages(ctx: JobContext) -> None:
        done = ctx.checkpoint.get("pages", 0)
        seen.append(done)
        ctx.checkpoint["pages"] = done + 5
        ctx.save_checkpoint()
        ctx.checkpoint["pages"] = 999  # never saved
        raise ConnectionError("gone")

    name = engine.enqueue("pages").name
    engine.run_once()
    clock.advance(3600)
    engine.run_once()
    assert engine.get(name).status is Status.DEAD_LETTER
    engine.retry(name)
    engine.run_once()
    assert seen == [0, 5, 10]


def test_the_effect_key_is_the_same_in_every_attempt(engine: Engine, registry: Registry, clock: FrozenClock) -> None:
    keys: list[str] = []

    @registry.job("call")
    def call(ctx: JobContext, a: int) -> None:
        keys.append(ctx.effect_key)
        raise ConnectionError

    engine.enqueue("call", {"a": 1})
    engine.enqueue("call", {"a": 2})
    engine.run_once()
    clock.advance(3600)
    engine.run_once()
    assert sorted(keys) == sorted([*set(keys)] * 2) and len(set(keys)) == 2
