"""The shapes of JSON that scripts rely on: stable keys, ISO times in UTC, secrets redacted."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import Any

from job_engine.core.job import COLUMNS, Job, Transition
from job_engine.core.redact import redact, redact_text

_JSON_FIELDS = frozenset({"params", "result", "checkpoint"})
_FREE_TEXT = frozenset({"last_error", "traceback", "reason", "progress_message"})


def job_shape(job: Job) -> dict[str, Any]:
    """Every attribute under its own name; what is JSON in the database is JSON here."""
    stored = {column: getattr(job, f"{column}_json" if column in _JSON_FIELDS else column) for column in COLUMNS}
    return {column: _value(column, value) for column, value in stored.items()}


def transition_shape(transition: Transition) -> dict[str, Any]:
    shape = {field.name: plain(getattr(transition, field.name)) for field in fields(transition)}
    for free in ("error", "reason"):
        shape[free] = redact_text(shape[free]) if shape[free] else shape[free]
    return shape


def stored_json(text: str | None) -> Any:
    """What a JSON column holds, without secrets. A row that somebody spoiled is shown as the text it is."""
    if text is None:
        return None
    try:
        return redact(json.loads(text))
    except (ValueError, RecursionError):
        return redact_text(text)


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.value if isinstance(value, Enum) else value


def _value(name: str, value: Any) -> Any:
    if name in _JSON_FIELDS:
        return stored_json(value)
    if name in _FREE_TEXT and value is not None:
        return redact_text(value)
    return plain(value)
