from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_engine.core.error_text import cut_middle, describe


def caught(exc: BaseException) -> BaseException:
    local_secret_value = "in a local variable"
    try:
        assert local_secret_value
        raise exc
    except BaseException as raised:
        return raised


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


def test_the_summary_is_one_line_with_the_class_and_the_message() -> None:
    assert describe(ConnectionError("no route\n  to host")).summary == "ConnectionError: no route to host"
    assert describe(ValueError()).summary == "ValueError"


def test_a_long_summary_is_cut() -> None:
    summary = describe(ValueError("x" * 10_000_000)).summary
    assert len(summary) == 500
    assert summary.endswith("x…")


def test_the_traceback_shows_where_it_happened_without_local_variables() -> None:
    text = describe(caught(ValueError("bad"))).traceback
    assert text.startswith("Traceback (most recent call last):")
    assert "in caught" in text
    assert text.endswith("ValueError: bad")
    assert "in a local variable" not in text


def test_the_cause_is_part_of_the_traceback() -> None:
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    text = describe(error).traceback
    assert "KeyError: 'inner'" in text
    assert "direct cause" in text


def test_secrets_are_redacted_everywhere() -> None:
    error = describe(caught(RuntimeError("login failed: password=hunter2 at postgres://u:hunter2@db/x")))
    assert "hunter2" not in error.summary + error.traceback
    assert "login failed" in error.summary


def test_an_exception_whose_text_fails_is_still_described() -> None:
    error = describe(caught(Unprintable()))
    assert error.summary.startswith("Unprintable: ")
    assert "Unprintable" in error.traceback.splitlines()[-1]


def test_what_databases_refuse_is_removed() -> None:
    error = describe(caught(ValueError("a\x00b\ud800c")))
    assert error.summary == "ValueError: abc"
    assert error.traceback.endswith("ValueError: abc")


@pytest.mark.parametrize("limit", [100, 1000, 8192])
def test_a_long_traceback_loses_its_middle_and_says_how_much(limit: int) -> None:
    text = describe(caught(ValueError("é" * 1_000_000 + " the end")), limit).traceback
    assert len(text.encode()) <= limit
    assert text.startswith("Traceback"[: limit // 10])
    assert text.endswith("the end")
    assert "bytes left out" in text


def test_a_secret_at_the_cut_does_not_lose_the_key_that_gives_it_away() -> None:
    text = describe(caught(ValueError("x" * 20_000 + " password=" + "hunter2" * 2000)), 1000).traceback
    assert "hunter2" not in text


def test_the_default_limit_is_eight_kibibytes() -> None:
    assert len(describe(ValueError("x" * 100_000)).traceback.encode()) <= 8192


@given(st.text(), st.integers(0, 200))
def test_a_cut_text_never_exceeds_its_limit_and_keeps_the_end(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)
    assert len(cut.encode()) <= limit
    if cut != text and limit > 150:
        assert text.endswith(cut[-10:])


def test_an_error_text_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        describe(ValueError()).summary = "x"  # type: ignore[misc]
