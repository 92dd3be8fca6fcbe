"""Values written into statements are those that the driver writes, whether they were seen before or not."""

from __future__ import annotations

from decimal import Decimal

import pymysql.converters
import pytest

from job_engine.store import literals
from job_engine.store.literals import Literals


def write(value: object) -> str:
    """As PyMySQL's connection does with a server's usual settings."""
    return str(pymysql.converters.escape_item(value, "utf8mb4"))


ROWS = [
    ("it's", 'a "quote"', "back\\slash", "new\nline", "\x00\x1a", "100 %s", "", "漢字 🙂"),
    (1, True, 1.0, Decimal("1.50"), None, "1", "NULL", "None"),
    ("x" * 200, "it's" * 50, 0, False, -1, "True", "1.0", "x"),
]


def test_rows_are_written_as_the_driver_writes_them() -> None:
    known = Literals()
    expected = ", ".join(
        "(" + ", ".join("NULL" if value is None else write(value) for value in row) + ")" for row in ROWS
    )
    assert [known.rows(ROWS, write) for _ in range(3)] == [expected] * 3


def test_a_value_that_is_known_is_not_written_again_and_a_long_one_is_not_kept() -> None:
    written: list[object] = []

    def spy(value: object) -> str:
        written.append(value)
        return write(value)

    known = Literals()
    for _ in range(2):
        known.rows([("default", "x" * 141)], spy)
    assert written == ["default", "x" * 141, "x" * 141]


def test_not_more_than_some_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literals, "MOST", 10)
    known = Literals()
    for i in range(100):
        assert known.rows([(f"v{i}",)], write) == f"('v{i}')"
    assert len(known._known) <= 11


@pytest.mark.parametrize("alike", [0, 1, 3, 7])
def test_rows_whose_ends_are_alike_are_written_the_same(alike: int) -> None:
    known = Literals()
    assert [known.rows(ROWS, write, alike) for _ in range(3)] == [Literals().rows(ROWS, write)] * 3


def test_what_is_alike_is_written_once_and_what_is_not_is_not_kept() -> None:
    written: list[object] = []

    def spy(value: object) -> str:
        written.append(value)
        return write(value)

    known = Literals()
    for name in ("a", "b", "b"):
        known.rows([(name, "default", 5)], spy, 2)
    assert written == ["a", "default", 5, "b", "b"]
    assert list(known._known) == [("default", 5)]
