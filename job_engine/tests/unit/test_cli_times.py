"""Times as people write and read them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from job_engine.cli.times import age_text, duration_text, parse_duration, parse_moment, time_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("2h", 7200), ("30d", 2_592_000), ("1w", 604_800), ("1h30m", 5400), ("0.5s", 0.5)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "10", "ten minutes", "-5m", "5 parsecs", "m", "999999999w"])
def test_what_is_no_duration_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|hundred years"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["+10m", "10m", " 10m "])
def test_a_wait_from_now_may_have_a_plus(text: str) -> None:
    assert parse_moment(text) == timedelta(minutes=10)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T08:00:00+01:00",
        "2026-01-31T07:00:00Z",
        "2026-01-31T07:00:00z",
        "2026-01-31 07:00",
        "2026-01-31T07:00",
    ],
)
def test_a_time_has_a_zone_or_is_utc(text: str) -> None:
    assert parse_moment(text) == datetime(2026, 1, 31, 7, tzinfo=timezone.utc)


@pytest.mark.parametrize("text", ["soon", "2026-13-01", "10", "25:00"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no time.*\+10m.*UTC"):
        parse_moment(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.0, "0 ms"),
        (0.0123, "12 ms"),
        (0.9999, "1 s"),
        (1.5, "1.5 s"),
        (60.0, "1 min"),
        (90.0, "90 s"),
        (150.0, "2 min"),
        (300.0, "5 min"),
        (3600.0, "1 h"),
        (86400.0, "1 d"),
        (2_592_000.0, "30 d"),
    ],
)
def test_a_duration_in_words(seconds: float | None, text: str) -> None:
    assert duration_text(seconds) == text


def test_an_age_has_no_fractions() -> None:
    assert [age_text(seconds) for seconds in (-1.0, 0.2, 7.94, 61.0, 3600.5)] == ["0 s", "0 s", "7 s", "61 s", "1 h"]


def test_a_time_says_that_it_is_utc() -> None:
    assert time_text(datetime(2026, 1, 31, 7, tzinfo=timezone.utc)) == "2026-01-31 07:00:00 UTC"
    assert time_text(None) == ""
