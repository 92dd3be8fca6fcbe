"""Settings that cannot work are refused when the engine is opened, in words that say what to set instead."""

from __future__ import annotations

from dataclasses import fields

import pytest

from job_engine.core.errors import JobEngineError
from job_engine.settings import Settings

NAMES = [f.name for f in fields(Settings)]


def test_what_is_given_replaces_the_default_and_nothing_else() -> None:
    changed = Settings.of(batch_jobs=7)
    assert changed.batch_jobs == 7
    assert all(getattr(changed, n) == getattr(Settings(), n) for n in NAMES if n != "batch_jobs")


def test_a_lease_shorter_than_two_heartbeats_is_refused_with_both_numbers() -> None:
    with pytest.raises(JobEngineError) as refusal:
        Settings.of(lease_seconds=19.5, heartbeat_seconds=10)
    for words in ("lease_seconds=19.5", "heartbeat_seconds=10", "lose their jobs", "Set heartbeat_seconds to"):
        assert words in str(refusal.value)


def test_a_short_lease_alone_is_measured_against_the_default_heartbeat() -> None:
    with pytest.raises(JobEngineError, match="less than two heartbeats"):
        Settings.of(lease_seconds=2 * Settings().heartbeat_seconds - 1)


def test_a_lease_of_exactly_two_heartbeats_is_allowed() -> None:
    assert Settings.of(lease_seconds=2, heartbeat_seconds=1).lease_seconds == 2


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize("name", NAMES)
def test_no_setting_is_zero_or_less(name: str, value: int) -> None:
    with pytest.raises(JobEngineError, match=f"{name} is {value}; it must be more than 0"):
        Settings.of(**{name: value})


def test_an_unknown_setting_is_refused_with_those_there_are() -> None:
    with pytest.raises(JobEngineError) as refusal:
        Settings.of(leese_seconds=60)
    for words in ("'leese_seconds'", *NAMES):
        assert words in str(refusal.value)
