from __future__ import annotations

import json
from collections import OrderedDict
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, localcontext
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_engine.core.canonical import LIMIT, MAX_DEPTH, decode, decode_any, encode
from job_engine.core.errors import InvalidParams, PayloadTooLarge, UndecodablePayload


class Colour(Enum):
    RED = "red"


class Size(str, Enum):
    BIG = "big"


class Level(IntEnum):
    TOP = 3


def text_of(value: Any) -> Any:
    """What `value` becomes in JSON."""
    return json.loads(encode({"v": value}))["v"]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=5))
def test_plain_json_comes_back_as_it_was(params: dict[str, Any]) -> None:
    assert decode(encode(params)) == params


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=5))
def test_the_quick_way_and_the_thorough_way_give_the_same_text(params: dict[str, Any]) -> None:
    assert encode(MappingProxyType(params)) == encode(params)  # json itself cannot encode a mapping proxy


@given(st.dictionaries(st.text(), JSON_VALUES, min_size=2, max_size=5))
def test_the_order_of_the_keys_does_not_change_the_text(params: dict[str, Any]) -> None:
    assert encode(dict(reversed(list(params.items())))) == encode(params)


def test_the_text_is_compact_sorted_and_keeps_characters_readable() -> None:
    assert encode({"b": [1, 2], "a": "é €"}) == '{"a":"é €","b":[1,2]}'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2024, 5, 1, 12, 30, tzinfo=timezone.utc), "2024-05-01T12:30:00+00:00"),
        (datetime(2024, 5, 1, 14, 30, tzinfo=timezone(timedelta(hours=2))), "2024-05-01T12:30:00+00:00"),
        (datetime(2024, 5, 1, 12, 30, 0, 5, tzinfo=timezone.utc), "2024-05-01T12:30:00.000005+00:00"),
        (datetime(2024, 5, 1, 12, 30), "2024-05-01T12:30:00"),
        (date(2024, 5, 1), "2024-05-01"),
        (time(12, 30), "12:30:00"),
        (UUID("12345678123456781234567812345678"), "12345678-1234-5678-1234-567812345678"),
        (PurePosixPath("/files/a.pdf"), "/files/a.pdf"),
        (Colour.RED, "red"),
        (Size.BIG, "big"),
        (Level.TOP, 3),
        ((1, (2, 3)), [1, [2, 3]]),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({Colour.RED, "red"}), ["red"]),
        (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
        ("\x00", "\x00"),
    ],
)
def test_what_json_does_not_have_is_written_as_documented(value: Any, expected: Any) -> None:
    assert text_of(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1.50", "1.5"),
        ("1.5", "1.5"),
        ("100", "100"),
        ("1E+2", "100"),
        ("-0.00", "0"),
        ("-7.10", "-7.1"),
        ("0.000001", "0.000001"),
        ("1E+999999", "1E+999999"),
        ("10E+999998", "1E+999999"),
        ("1.2345678901234567890123456789012345", "1.2345678901234567890123456789012345"),
    ],
)
def test_equal_decimals_give_one_text(value: str, expected: str) -> None:
    assert text_of(Decimal(value)) == expected


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_loses_nothing_but_trailing_zeros(value: Decimal) -> None:
    assert Decimal(text_of(value)) == value


def test_the_thread_s_decimal_precision_does_not_round_a_value() -> None:
    with localcontext() as context:
        context.prec = 3
        assert text_of(Decimal("1.23456")) == "1.23456"


def test_a_set_of_mixed_types_has_one_order() -> None:
    elements = [3, "a", None, Decimal("2.5"), date(2024, 1, 1), (1, "x"), 10]
    assert text_of(set(elements)) == text_of(set(reversed(elements)))


def test_integer_and_enum_keys_become_strings_in_the_order_of_strings() -> None:
    assert encode({10: "x", 9: "y", Colour.RED: 1, Size.BIG: 2}) == '{"10":"x","9":"y","big":2,"red":1}'
    assert encode({10: "x", 9: "y"}) == encode({"10": "x", "9": "y"})


@pytest.mark.parametrize("params", [{1: "a", "1": "b"}, {Colour.RED: 1, "red": 2}, {"x": [{Level.TOP: 1, "3": 2}]}])
def test_two_keys_that_become_one_are_refused(params: dict[Any, Any]) -> None:
    with pytest.raises(InvalidParams, match="two keys become"):
        encode(params)


@pytest.mark.parametrize("key", [True, None, 1.5, (1, 2), b"k", date(2024, 1, 1)])
def test_other_keys_are_refused(key: Any) -> None:
    with pytest.raises(InvalidParams, match="JSON has only strings as keys"):
        encode({"outer": {key: 1}})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"items": [1, 2, 3, {"when": b"x"}]}, r"^params\.items\[3\]\.when: bytes cannot be stored as JSON\. .*base64"),
        ({"a": float("nan")}, r"^params\.a: nan is not a JSON number\. Pass None"),
        ({"a": [float("-inf")]}, r"^params\.a\[0\]: -inf is not a JSON number"),
        ({"a": Decimal("NaN")}, r"^params\.a: Decimal NaN is not a number"),
        ({"odd key": {"x": object()}}, r"^params\['odd key'\]\.x: object cannot be stored as JSON\. Pass plain data"),
        ({"a": timedelta(1)}, r"total_seconds"),
        ({"a": print}, r"Code cannot be stored"),
        ({"a": "x\ud800"}, r"^params\.a: the character at position 1 is a lone surrogate"),
        ({"\ud800": 1}, r"^a key of params: .* lone surrogate"),
        ({"a": 1 << 20_000}, r"^params\.a: an integer of 20,001 bits is too large"),
        ({"a": datetime.min.replace(tzinfo=timezone(timedelta(hours=2)))}, r"^params\.a: .* does not exist in UTC"),
    ],
)
def test_an_error_names_the_path_and_what_to_do(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParams, match=message):
        encode(params)


def test_a_value_that_contains_itself_is_refused_with_its_path() -> None:
    circle: dict[str, Any] = {"list": []}
    circle["list"].append(circle)
    with pytest.raises(InvalidParams, match=r"^params\.list\[0\]: contains itself"):
        encode(circle)


def test_one_object_used_twice_is_no_circle() -> None:
    shared = [date(2024, 1, 1)]
    assert encode({"a": shared, "b": shared}) == '{"a":["2024-01-01"],"b":["2024-01-01"]}'


def nested(depth: int) -> dict[str, Any]:
    value: Any = []
    for _ in range(depth - 2):
        value = [value]
    return {"v": value}


def test_the_depth_is_limited_far_below_what_the_interpreter_could_not_decode() -> None:
    assert decode(encode(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 900, 20_000):
        with pytest.raises(InvalidParams, match="levels deep"):
            encode(nested(depth))


def test_many_containers_side_by_side_are_not_deep() -> None:
    assert decode(encode({"rows": [{"n": n} for n in range(1000)]}))["rows"][999] == {"n": 999}


@pytest.mark.parametrize("value", [None, [], "text", 5])
def test_parameters_must_be_a_dict(value: Any) -> None:
    with pytest.raises(InvalidParams, match="expected a dict"):
        encode(value)


def test_a_result_may_be_any_value_and_errors_call_it_by_its_name() -> None:
    assert encode([1, None], what="result", must_be_object=False) == "[1,null]"
    with pytest.raises(InvalidParams, match=r"^result\[0\]: bytes"):
        encode([b""], what="result", must_be_object=False)


def test_the_limit_counts_bytes_not_characters() -> None:
    assert len(encode({"a": "x" * (LIMIT - 8)})) == LIMIT
    with pytest.raises(PayloadTooLarge) as caught:
        encode({"a": "é" * (LIMIT // 2)})
    assert (caught.value.size, caught.value.limit) == (LIMIT + 8, LIMIT)
    assert "65,544 bytes" in str(caught.value)
    assert "65,536" in str(caught.value)
    assert "pass its address" in str(caught.value)


def test_the_limit_holds_for_converted_values_too() -> None:
    with pytest.raises(PayloadTooLarge):
        encode({"days": [date(2024, 1, 1)] * 100}, limit=1000)


@pytest.mark.parametrize("text", [None, "", "{", "[1]", "null", "5", '"x"', '{"a": NaN}', "[" * 100_000, b"\xff"])
def test_what_is_not_a_json_object_cannot_be_decoded(text: Any) -> None:
    with pytest.raises(UndecodablePayload, match="Correct the row or cancel the job"):
        decode(text)


def test_decode_any_takes_every_json_value() -> None:
    assert decode_any("[1]") == [1]
    assert decode_any("null") is None
    assert decode_any(b'{"a":"\xc3\xa9"}') == {"a": "é"}
    with pytest.raises(UndecodablePayload, match=r"^checkpoint: not JSON"):
        decode_any("", "checkpoint")
