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


def test_a_short_lease_is_extended_often_enough_whatever_the_heartbeat() -> None:
    assert Settings.of(lease_seconds=3).beat_seconds == 1
    assert Settings.of(lease_seconds=60, heartbeat_seconds=5).beat_seconds == 5


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
