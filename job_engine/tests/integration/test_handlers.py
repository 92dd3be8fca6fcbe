"""How a handler is found and called, and what it gets."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from job_engine import JobContext
from job_engine.core.errors import UnknownJobType
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.tests.clock import FrozenClock
from job_engine.tests.integration.conftest import OpenEngine


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
