from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_engine.core.errors import InvalidJob
from job_engine.core.retry import MAX_DELAY, PRESETS, RetryPolicy

SECONDS = st.floats(0, MAX_DELAY)
POLICIES = st.builds(
    RetryPolicy,
    kind=st.sampled_from(["exponential", "linear", "fixed", "list"]),
    base=SECONDS,
    factor=st.floats(0, 1e300),
    cap=SECONDS,
    jitter=st.floats(0, 1),
    delays=st.lists(SECONDS, min_size=1, max_size=5),
)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("standard", [60, 120, 240, 480, 960, 1800, 1800]),
        ("quick", [min(60, 2**n) for n in range(1, 8)]),
        ("linear", [min(300, 10 * n) for n in range(1, 8)]),
        ("patient", [min(300, 30 * 2**n) for n in range(1, 8)]),
        ("fixed", [60] * 7),
    ],
)
def test_a_preset_follows_its_formula(preset: str, expected: list[float]) -> None:
    assert PRESETS[preset].schedule(7) == expected
    assert PRESETS[preset].jitter == 0.2


def test_linear_delays_stop_at_their_cap() -> None:
    assert PRESETS["linear"].schedule(40)[28:32] == [290, 300, 300, 300]


def test_a_list_repeats_its_last_delay() -> None:
    assert RetryPolicy.parse([5, 30]).schedule(4) == [5, 30, 30, 30]


@given(POLICIES, st.integers(1, 10_000), st.randoms())
def test_jitter_stays_within_its_bounds(policy: RetryPolicy, attempt: int, rng: random.Random) -> None:
    exact = policy.schedule(attempt)[-1] if attempt < 50 else min(policy.cap, policy._exact(attempt))
    delay = policy.delay(attempt, rng)
    assert math.isfinite(delay)
    assert exact * (1 - policy.jitter) - 1e-6 <= delay <= exact * (1 + policy.jitter) + 1e-6
    assert exact <= policy.cap


def test_jitter_spreads_delays_at_the_cap_to_both_sides() -> None:
    delays = PRESETS["standard"].schedule(2000, jitter=True, rng=random.Random(1))[10:]
    assert 1440 <= min(delays) < 1500
    assert 2100 < max(delays) <= 2160


def test_the_same_random_source_gives_the_same_delays() -> None:
    assert PRESETS["quick"].delay(3, random.Random(5)) == PRESETS["quick"].delay(3, random.Random(5))


def test_delays_differ_without_a_random_source() -> None:
    assert len({PRESETS["standard"].delay(1) for _ in range(20)}) > 1


@pytest.mark.parametrize("factor", [2, 1e300, 10**300])
def test_a_huge_attempt_does_not_overflow(factor: float) -> None:
    assert RetryPolicy(base=1, factor=factor, cap=300).schedule(10_000)[-1] == 300
    assert RetryPolicy(base=1, factor=factor).schedule(10_000)[-1] == MAX_DELAY
    assert RetryPolicy(base=0, factor=factor).schedule(10_000)[-1] == 0


@pytest.mark.parametrize("attempt", [0, -1])
def test_attempts_are_counted_from_one(attempt: int) -> None:
    with pytest.raises(ValueError, match="from 1"):
        PRESETS["standard"].delay(attempt)


def test_plain_seconds_are_taken_at_their_word() -> None:
    assert RetryPolicy.parse(90).delay(7) == 90
    assert [RetryPolicy.parse((1, 2.5)).delay(n) for n in (1, 2, 3)] == [1, 2.5, 2.5]


def test_parse_accepts_every_form_people_write() -> None:
    policy = RetryPolicy(base=5)
    assert RetryPolicy.parse(policy) is policy
    assert RetryPolicy.parse("patient") is PRESETS["patient"]
    assert RetryPolicy.parse({"kind": "linear", "base": 3, "cap": 10, "jitter": 0}).schedule(4) == [3, 6, 9, 10]


@pytest.mark.parametrize("spec", ["nonsense", None, True, object(), b"standard"])
def test_nonsense_is_refused_with_the_list_of_presets(spec: Any) -> None:
    with pytest.raises(InvalidJob, match="standard, quick, linear, patient, fixed"):
        RetryPolicy.parse(spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "sometimes"},
        {"every": 5},
        {"base": -1},
        {"base": "60"},
        {"base": True},
        {"jitter": 1.5},
        {"cap": float("inf")},
        {"factor": float("nan")},
        {"kind": "list"},
        {"kind": "list", "delays": "12"},
        {"kind": "list", "delays": [None]},
        [],
        [1, -5],
        -1,
        float("nan"),
        10**400,
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidJob):
        RetryPolicy.parse(spec)


@given(POLICIES)
def test_a_policy_survives_the_way_through_json(policy: RetryPolicy) -> None:
    assert RetryPolicy.from_json(json.loads(json.dumps(policy.to_json()))) == policy
    assert RetryPolicy.parse(policy.to_json()) == policy
