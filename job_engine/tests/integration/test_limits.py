"""Pauses and limits: what an operator says holds at once, for every worker, also when they claim at the same moment."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from job_engine.core.errors import InvalidJob, JobEngineError
from job_engine.core.registry import Registry
from job_engine.engine import Engine
from job_engine.tests.clock import FrozenClock
from job_engine.tests.parallel import at_once


@pytest.fixture(autouse=True)
def types(registry: Registry) -> None:
    for name in ("work", "other"):
        registry.job(name, dedup_window=0)(lambda **params: None)


def claimed_types(engine: Engine, limit: int = 100) -> Counter[str]:
    return Counter(job.job_type for job in engine.store.claim_batch("w1", limit))


SCOPES = [("type", "work"), ("queue", "mail"), ("organization", "ACME"), ("everything", "")]


@pytest.mark.parametrize(("scope", "target"), SCOPES)
def test_what_is_paused_is_not_claimed_until_it_is_resumed(engine: Engine, scope: str, target: str) -> None:
    engine.enqueue("work", queue="mail", organization="ACME")
    engine.enqueue("other", queue="default", organization="Globex")
    engine.pause(scope, target, by="operator@example.com", reason="the printer burns")
    free = 0 if scope == "everything" else 1
    assert claimed_types(engine) == Counter({"other": free} if free else {})
    assert engine.resume(scope, target) is True
    assert claimed_types(engine)["work"] == 1
    assert engine.resume(scope, target) is False


def test_paused_work_of_high_priority_does_not_hold_up_the_rest(engine: Engine) -> None:
    for _ in range(60):
        engine.enqueue("work", priority="Critical")
    engine.enqueue("other", priority="Low")
    engine.pause("type", "work")
    assert claimed_types(engine, 5) == Counter(other=1)


@pytest.mark.parametrize(("scope", "target"), [("everything", "work"), ("typo", "work"), ("Type", "work")])
def test_a_pause_that_would_stop_nothing_is_an_error(engine: Engine, scope: str, target: str) -> None:
    engine.enqueue("work")
    try:
        engine.pause(scope, target)
    except JobEngineError:
        return
    assert claimed_types(engine) == Counter()


@pytest.mark.parametrize("scope", ["type", "organization"])
def test_no_more_jobs_run_at_once_than_the_limit_says(engine: Engine, scope: str) -> None:
    engine.limit(scope, "work" if scope == "type" else "ACME", concurrency=2)
    jobs = [engine.enqueue("work", organization="ACME") for _ in range(5)]
    engine.enqueue("other", organization="Globex")
    assert claimed_types(engine) == Counter(work=2, other=1)
    assert claimed_types(engine) == Counter()
    running = [job.name for job in jobs if engine.get(job.name).lease_owner]
    engine.store.mark_success(running[0], "w1", 1)
    assert claimed_types(engine) == Counter(work=1)


def test_a_limit_of_the_code_holds_and_an_operator_overrides_it(engine: Engine, registry: Registry) -> None:
    registry.job("narrow", concurrency=1, dedup_window=0)(lambda **params: None)
    for _ in range(5):
        engine.enqueue("narrow")
    assert claimed_types(engine) == Counter(narrow=1)
    engine.limit("type", "narrow", concurrency=3)
    assert claimed_types(engine) == Counter(narrow=2)
    engine.limit("type", "narrow")
    assert claimed_types(engine) == Counter()


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_limit_below_one_is_an_error_and_not_the_absence_of_a_limit(engine: Engine, concurrency: int) -> None:
    for _ in range(3):
        engine.enqueue("work")
    with pytest.raises(JobEngineError):
        engine.limit("type", "work", concurrency=concurrency)


@pytest.mark.parametrize("scope", ["queue", "everything", "typo"])
def test_only_types_and_organizations_have_limits(engine: Engine, scope: str) -> None:
    with pytest.raises(JobEngineError, match="limited"):
        engine.limit(scope, "x", concurrency=1)


@pytest.mark.parametrize("rate", ["0/m", "ten/m", "10", "10/week", "-1/s"])
def test_a_rate_that_cannot_be_read_is_an_error(engine: Engine, rate: str) -> None:
    with pytest.raises(InvalidJob, match="Rate"):
        engine.limit("type", "work", rate=rate)


@pytest.mark.parametrize("scope", ["type", "organization"])
def test_no_more_jobs_start_than_the_rate_allows(engine: Engine, clock: FrozenClock, scope: str) -> None:
    engine.limit(scope, "work" if scope == "type" else "ACME", rate="6/m")
    for _ in range(20):
        engine.enqueue("work", organization="ACME")
    assert claimed_types(engine) == Counter(work=6)
    assert claimed_types(engine) == Counter()
    clock.advance(10)
    assert claimed_types(engine) == Counter(work=1)
    clock.advance(3600)
    assert claimed_types(engine) == Counter(work=6)


def test_both_limits_hold_together(engine: Engine) -> None:
    engine.limit("type", "work", concurrency=3)
    engine.limit("organization", "ACME", concurrency=2)
    for organization in ("ACME", "ACME", "ACME", "Globex", "Globex", "Globex"):
        engine.enqueue("work", organization=organization)
    claimed = engine.store.claim_batch("w1", 100)
    organizations = Counter(job.organization for job in claimed)
    assert len(claimed) == 3 and organizations["ACME"] <= 2, organizations


def test_an_exhausted_limit_of_high_priority_does_not_hold_up_the_rest(engine: Engine) -> None:
    engine.limit("type", "work", concurrency=1)
    for _ in range(60):
        engine.enqueue("work", priority="Critical")
    engine.enqueue("other", priority="Low")
    assert claimed_types(engine, 5) == Counter(work=1, other=1)


@pytest.mark.parametrize("limit", [{"concurrency": 2}, {"rate": "2/h"}], ids=["concurrency", "rate"])
@pytest.mark.parametrize("scope", ["type", "organization"])
def test_limits_hold_under_claimers_that_come_at_the_same_moment(
    engine: Engine, scope: str, limit: dict[str, Any]
) -> None:
    for round_ in range(5):
        type_, organization = f"type{round_}", f"organization{round_}"
        engine.registry.job(type_, dedup_window=0)(lambda **params: None)
        engine.limit(scope, type_ if scope == "type" else organization, **limit)
        engine.enqueue_many(type_, [{}] * 12, organization=organization)
        claimed = at_once(
            [lambda w=f"w{i}": engine.store.claim_batch(w, 5) for i in range(5)], after=engine.store.close
        )
        assert sum(map(len, claimed)) == 2, f"round {round_}: {list(map(len, claimed))}"
