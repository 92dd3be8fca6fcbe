"""The one JSON form in which parameters, results and checkpoints are stored and hashed.

Two values that mean the same must give the same text, in every process, since the text decides whether a job is a
duplicate. What Python has and JSON has not is written like this:

| Python | JSON |
|---|---|
| aware `datetime` | ISO-8601 in UTC, `+00:00` (not `Z`, which `fromisoformat` cannot read before Python 3.11) |
| naive `datetime`, `date`, `time` | ISO-8601 as it is; microseconds only where there are any |
| `Decimal` | a string without trailing zeros: 1.50 and 1.5 are one number and give one text |
| `UUID`, `PurePath` | its string |
| `Enum` | its value |
| `set`, `frozenset` | a list without duplicates, sorted by the elements' JSON text, which orders mixed types too |
| `tuple` | a list |
| `int` key, or an `Enum` key of `str` or `int` | a string; two keys that become the same string are an error |

`1` and `1.0` stay different, as they are in JSON. A handler receives the JSON side of this table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from job_engine.core.errors import InvalidParams, PayloadTooLarge, UndecodablePayload
from job_engine.core.language import _

LIMIT = 65_536  # bytes of UTF-8
MAX_DEPTH = 100  # far below the interpreter's recursion limit: what could be encoded can always be decoded
_MAX_INT_BITS = 13_000  # Python refuses to parse integers of more than 4,300 digits
_PLAIN_EXPONENT = 40  # a Decimal beyond 10**±40 is written in scientific notation, not with a flood of zeros

_TEXT = frozenset({str})
_PLAIN = frozenset({str, int, float, bool, type(None)})
_encoder = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode(value: Any, what: str = "params", limit: int = LIMIT, must_be_object: bool = True) -> str:
    """The canonical JSON text of `value`. Errors call the value `what` and name the path to what is wrong in it."""
    if must_be_object and not isinstance(value, Mapping):
        raise InvalidParams(
            _("{0}: expected a dict, got {1}. Pass named values: {{'name': value}}.").format(what, type(value).__name__)
        )
    text = _encode_plain(value, limit)
    if text is None:
        text = _encoder.encode(_Canonicaliser(what).convert(value, what, 0))
    size = _utf8_size(text)
    if size > limit:
        raise PayloadTooLarge(
            _(
                "{0}: {1:,} bytes as JSON, and the limit is {2:,}. Store the data elsewhere (a file, a row of its"
                " own) and pass its address."
            ).format(what, size, limit),
            size=size,
            limit=limit,
        )
    return text


def decode(text: str | bytes | None, what: str = "params") -> dict[str, Any]:
    """The JSON object in `text`. Nothing at all (None, an empty string) is not an object: `encode({})` is "{}"."""
    value = decode_any(text, what)
    if not isinstance(value, dict):
        raise UndecodablePayload(
            f"{what}: expected a JSON object, found {_json_kind(value)}. Correct the row or cancel the job."
        )
    return value


def decode_any(text: str | bytes | None, what: str = "result") -> Any:
    """The JSON value in `text`, of whatever kind."""
    try:
        if isinstance(text, (bytes, bytearray)):
            text = text.decode("utf-8")
        if not isinstance(text, str):
            raise ValueError(f"there is no text but {type(text).__name__}")
        value, end = _decoder.raw_decode(text)  # what the engine itself has written has no blanks around it
        return value if end == len(text) else _decoder.decode(text)
    except (ValueError, RecursionError) as exc:
        raise UndecodablePayload(f"{what}: not JSON ({exc}). Correct the row or cancel the job.") from exc


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)


# The quick way: values that are JSON already -------------------------------------------------------------------------


def _encode_plain(value: Any, limit: int) -> str | None:
    """One `json` call where it gives the canonical text; None where it does not.

    `json` writes integer keys unsorted and colliding keys twice without a word. Reading its text back (in C, as
    quick as writing it) shows any such loss: what comes back equals the value only if the value was JSON already.
    Not needed where names have plain values, as in most payloads.
    """
    try:
        text = _encoder.encode(value)
        if _utf8_size(text) > limit:
            return text  # too large either way
        if _is_flat(value):
            return text
        loaded = _decoder.decode(text)
        return text if loaded == value and not _too_deep(text, loaded) else None
    except (TypeError, ValueError, RecursionError):  # ValueError: NaN, a cycle, a lone surrogate, a huge integer
        return None


def _is_flat(value: Any) -> bool:
    return type(value) is dict and _TEXT.issuperset(map(type, value)) and _PLAIN.issuperset(map(type, value.values()))


def _too_deep(text: str, loaded: Any) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False  # too few brackets to be deep: almost every payload ends here
    level = [loaded]
    for _level in range(MAX_DEPTH):
        level = [item for container in level for item in _items(container) if type(item) in (dict, list)]
        if not level:
            return False
    return True


def _items(container: Any) -> Any:
    return container.values() if type(container) is dict else container


def _utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))


# The thorough way: convert what JSON does not have, and say where something cannot be stored --------------------------


class _Canonicaliser:
    def __init__(self, what: str):
        self._what = what
        self._open: set[int] = set()  # ids of the containers around the current value

    def convert(self, value: Any, path: str, depth: int) -> Any:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, Enum):
            return self.convert(value.value, path, depth)
        if isinstance(value, str):
            return _text(value, path)
        if isinstance(value, (int, float)):
            return _number(value, path)
        if isinstance(value, (Mapping, list, tuple, set, frozenset)):
            return self._container(value, path, depth)
        return _scalar(value, path)

    def _container(self, value: Any, path: str, depth: int) -> Any:
        if id(value) in self._open:
            raise InvalidParams(
                _("{0}: contains itself. Break the circle, or pass an identifier instead of the object.").format(path)
            )
        if depth >= MAX_DEPTH:
            raise InvalidParams(
                _("{0}: nested more than {1} levels deep. Pass a flatter structure.").format(path, MAX_DEPTH)
            )
        self._open.add(id(value))
        try:
            if isinstance(value, Mapping):
                return dict(self._pairs(value, path, depth))
            items = [self.convert(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
            return items if isinstance(value, (list, tuple)) else _sorted_set(items)
        finally:
            self._open.discard(id(value))

    def _pairs(self, mapping: Mapping[Any, Any], path: str, depth: int) -> Iterator[tuple[str, Any]]:
        taken: set[str] = set()
        for key, value in mapping.items():
            name = _key(key, path)
            if name in taken:
                raise InvalidParams(_("{0}: two keys become {1!r} in JSON. Rename one of them.").format(path, name))
            taken.add(name)
            yield name, self.convert(value, _join(path, name), depth + 1)


def _key(key: Any, path: str) -> str:
    plain = key.value if isinstance(key, Enum) else key
    if isinstance(plain, str):
        return _text(plain, _("a key of {0}").format(path))
    if isinstance(plain, int) and not isinstance(plain, bool):
        return str(_number(plain, _("a key of {0}").format(path)))
    raise InvalidParams(
        _("{0}: the key {1!r} is of type {2}, and JSON has only strings as keys. Convert it to a string.").format(
            path, key, type(key).__name__
        )
    )


def _text(value: str, path: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InvalidParams(
            _(
                "{0}: the character at position {1} is a lone surrogate, which no database stores as text. Decode"
                " the original bytes with the right encoding, or with errors='replace'."
            ).format(path, exc.start)
        ) from None
    return str.__str__(value)


def _number(value: int | float, path: str) -> int | float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidParams(_("{0}: {1} is not a JSON number. Pass None or leave the key out.").format(path, value))
        return float(value)
    if value.bit_length() > _MAX_INT_BITS:
        raise InvalidParams(
            _("{0}: an integer of {1:,} bits is too large. Pass it as a hex string.").format(path, value.bit_length())
        )
    return int(value)


def _scalar(value: Any, path: str) -> str:
    if isinstance(value, datetime):
        return _datetime(value, path)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return _decimal(value, path)
    if isinstance(value, (UUID, PurePath)):
        return _text(str(value), path)
    raise InvalidParams(_("{0}: {1} cannot be stored as JSON. {2}").format(path, type(value).__name__, _advice(value)))


def _datetime(value: datetime, path: str) -> str:
    if value.utcoffset() is None:
        return value.isoformat()
    try:
        return value.astimezone(timezone.utc).isoformat()
    except OverflowError:
        raise InvalidParams(
            _("{0}: {1} does not exist in UTC. Pass a date within years 1-9999.").format(path, value.isoformat())
        ) from None


def _decimal(value: Decimal, path: str) -> str:
    # Not normalize(): it rounds to the precision of the thread's decimal context.
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidParams(_("{0}: Decimal {1} is not a number. Pass None or leave the key out.").format(path, value))
    if not value:
        return "0"
    significant = len(digits)
    while digits[significant - 1] == 0:
        significant -= 1
    short = Decimal((sign, digits[:significant], exponent + len(digits) - significant))
    plain = abs(short.adjusted()) <= _PLAIN_EXPONENT
    return format(short, "f") if plain else str(short)


def _sorted_set(items: list[Any]) -> list[Any]:
    by_text = {_encoder.encode(item): item for item in items}
    return [by_text[text] for text in sorted(by_text)]


def _advice(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _("Decode it to text, encode it with base64, or store it as a file and pass its address.")
    if isinstance(value, timedelta):
        return _("Pass its total_seconds().")
    if callable(value):
        return _("Code cannot be stored with a job: pass data, and choose the code by the job type.")
    return _(
        "Pass plain data (dict, list, str, int, float, bool, None), or the identifier with which the handler finds it."
    )


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{name!r}]"


def _json_kind(value: Any) -> str:
    kinds = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")
