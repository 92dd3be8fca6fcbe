"""What of an error's text is its cause, and what belongs to the one job."""

from __future__ import annotations

import pytest

from job_engine.core.cause import LIMIT, cause_id, cause_of


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("ValueError: Invoice INV-0017 not found", "ValueError: Invoice … not found"),
        ("KeyError: 'customer'", "KeyError: …"),
        ('Error: no file "/files/a b.pdf"', "Error: no file …"),
        ("Timeout: 3.5 s on 10.0.0.7:8080.", "Timeout: … s on …."),
        ("HTTPError: 503 Server Error", "HTTPError: 503 Server Error"),
        ("HTTPError: 404: Not Found", "HTTPError: 404: Not Found"),
        ("Error: row 1234 is empty", "Error: row … is empty"),
        ("Error: it isn't there, and can't be", "Error: it isn't there, and can't be"),
        ("first line\nsecond line", "first line"),
        ("", "no error recorded"),
        (None, "no error recorded"),
    ],
)
def test_numbers_and_names_are_left_out(error, cause):
    assert cause_of(error) == cause


def test_faults_that_differ_in_more_than_numbers_stay_apart():
    assert cause_of("HTTPError: 503 Server Error") != cause_of("HTTPError: 404 Not Found")


def test_a_cause_is_short_and_a_long_error_takes_no_time():
    assert len(cause_of("x" * 100_000)) == LIMIT
    assert len(cause_of("'" * 10_000 + "1" * 10_000)) <= LIMIT


def test_a_cause_has_one_name_for_each_type():
    assert cause_id("a", "x") == cause_id("a", "x") != cause_id("b", "x")
