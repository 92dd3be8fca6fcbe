"""Metrics are counters that are written along the way; these tests recount what they claim, by brute force."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from job_engine import Snooze
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.store import stats
from job_engine.tests.clock import FrozenClock
from job_engine.tests.ledger import check_ledger
from job_engine.tests.parallel import at_once


@pytest.mark.parametrize("seed", [1, 2])
def test_metrics_equal_a_recount_after_a_random_run(
    engine: Engine, registry: Registry, clock: FrozenClock, seed: int
) -> None:
    rng = random.Random(seed)
    runs: Counter[str] = Counter()
    failed: Counter[str] = Counter()

    def play(job_type: str, n: int) -> None:
        fate = rng.random()
        if fate < 0.1:
            raise Snooze(30)
        runs[job_type] += 1
        if fate < 0.5:
            failed[job_type] += 1
            raise ConnectionError if fate < 0.4 else ValueError

    for job_type in ("a", "b"):
        registry.job(job_type, max_attempts=2)(lambda n, job_type=job_type: play(job_type, n))
    names: list[str] = []
    for n in range(80):
        options: dict[str, Any] = {
            "organization": rng.choice(["ACME", "Globex", None]),
            "priority": rng.choice(["Low", "High"]),
            "run_after": rng.choice([0, 0, 30, 5000]),
        }
        names.append(engine.enqueue(rng.choice("ab"), {"n": n}, **options).name)
        if n % 10 == 9:
            engine.run_once(5)
            clock.advance(31)
            for act in (engine.cancel, engine.retry):
                try:
                    act(rng.choice(names))
                except Exception as error:
                    assert type(error).__name__ == "IllegalTransition"
    check_ledger(engine)
    metrics = engine.metrics()
    assert metrics.failure_rate_by_type == {t: failed[t] / runs[t] for t in sorted(runs)}
    assert metrics.throughput * 60 == pytest.approx(runs.total() - failed.total())
    waiting = min((j for j in engine.find(status=Status.QUEUED)), key=lambda j: (j.run_after, j.name), default=None)
    assert metrics.oldest_waiting_job == (waiting.name if waiting else None)
    clock.advance(4000)
    while engine.run_once(100):
        clock.advance(4000)
    assert engine.metrics().job_count_by_status["Queued"] == 0
    check_ledger(engine)


def test_old_counters_are_merged_and_still_add_up(engine: Engine, registry: Registry, clock: FrozenClock) -> None:
    registry.job("work", dedup_window=0)(lambda: None)
    for days in (20, 9, 1, 0):
        for _ in range(3):
            engine.enqueue("work")
            engine.run_once()
            clock.advance(70)
        clock.advance(days * 86_400)
    before = engine.metrics()
    assert engine.store.compact_stats() > 0
    check_ledger(engine)
    assert engine.metrics().job_count_by_status == before.job_count_by_status
    assert engine.store.compact_stats() == 0


def test_two_that_merge_counters_at_once_count_nothing_twice(
    engine: Engine, registry: Registry, clock: FrozenClock
) -> None:
    registry.job("work", dedup_window=0)(lambda: None)
    for _ in range(6):
        for worker in range(12):
            engine.enqueue("work")
            (job,) = engine.store.claim_batch(f"w{worker}", 1)
            engine.store.mark_success(job.name, f"w{worker}", 1)
            clock.advance(61)
        clock.advance(86_400)
        at_once([engine.store.compact_stats] * 4, after=engine.store.close)
        check_ledger(engine)


def test_a_duration_falls_into_its_bucket(engine: Engine) -> None:
    assert [stats.bucket_of(seconds) for seconds in (0, 0.005, 0.0051, 7200, 7201)] == [0, 0, 1, 15, 16]
    assert engine.metrics().job_duration_p95 is None
