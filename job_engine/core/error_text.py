"""What is kept of an exception: a line for lists and a traceback for whoever looks closer."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass

from job_engine.core.redact import redact_text

LIMIT = 8_192  # bytes of UTF-8
SUMMARY_LIMIT = 500  # characters
_HEAD_SHARE = 0.25  # where it started; the rest goes to the end, where the error itself stands
_WORK_LIMIT = 524_288  # bytes that are redacted at all: a message can be megabytes


@dataclass(frozen=True)
class ErrorText:
    summary: str  # "ConnectionError: message", one line
    traceback: str  # without local variables, secrets redacted


def describe(exc: BaseException, limit: int = LIMIT) -> ErrorText:
    """The text of `exc`. Never raises, whatever the exception's own methods do."""
    summary = _summary(exc)
    return ErrorText(summary, _traceback(exc, summary, limit))


def _summary(exc: BaseException) -> str:
    name = type(exc).__name__
    message = clean(_message(exc)[: SUMMARY_LIMIT * 16])
    line = " ".join(redact_text(message).split())
    text = f"{clean(name)}: {line}" if line else clean(name)
    return text if len(text) <= SUMMARY_LIMIT else text[: SUMMARY_LIMIT - 1] + "…"


def _message(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:
        return "(its message cannot be shown: __str__ failed)"


def _traceback(exc: BaseException, summary: str, limit: int) -> str:
    try:
        text = "".join(traceback.format_exception(type(exc), exc, exc.__traceback__))
    except Exception:  # an exception whose attributes break even the formatting
        text = summary
    # Redact before the cut: a cut between a key and its value would hide the key that gives the value away. The first,
    # coarse cut is far from anything the second one keeps.
    coarse = cut_middle(clean(text), max(limit, _WORK_LIMIT))
    return cut_middle(redact_text(coarse).rstrip("\n"), limit)


def clean(text: str) -> str:
    """`text` without what databases refuse: NUL characters and lone surrogates."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8")


def cut_middle(text: str, limit: int) -> str:
    """`text` in at most `limit` bytes of UTF-8. Where it is too long the middle goes, and a line says how much."""
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    room = limit - len(_marker(len(data)).encode())  # the largest the marker can become
    if room <= 0:
        return _decode(data[len(data) - limit :]) if limit > 0 else ""
    head = int(room * _HEAD_SHARE)
    tail = room - head
    marker = _marker(len(data) - head - tail)
    return _decode(data[:head]) + marker + _decode(data[len(data) - tail :])


def _marker(left_out: int) -> str:
    return f"\n... {left_out:,} bytes left out ...\n"


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "ignore")  # a character that was cut in two is dropped


# Others write what we show: an error must not move the cursor, rename the window or fake a line of whoever reads it.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with control characters spelled out; tabs and line ends stay."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
