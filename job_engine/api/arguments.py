"""Arguments as HTTP brings them: JSON, or texts from a form; turned into what the engine takes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import frappe
from frappe import _

from job_engine.api.errors import InvalidArgument
from job_engine.core import canonical
from job_engine.core.clock import utc
from job_engine.core.errors import UndecodablePayload

MAX_REASON = 500  # characters
MAX_KEY = 255


def json_object(value: dict[str, Any] | str | None, what: str) -> dict[str, Any]:
    found = json_value(value, what)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InvalidArgument(_("{0} is no JSON object: {{...}}.").format(what))
    return found


def json_value(value: Any, what: str) -> Any:
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return canonical.decode_any(value, what)
    except UndecodablePayload as error:
        raise InvalidArgument(_("{0} is not JSON: {1}.").format(what, error.__cause__)) from None


def moment(text: str | None, what: str = "run_after") -> datetime | None:
    """An ISO 8601 time. Without a zone it is UTC, as everywhere in the engine."""
    if not text:
        return None
    try:
        at = utc(datetime.fromisoformat(text.strip().replace("Z", "+00:00")))
    except (ValueError, OverflowError):
        raise InvalidArgument(
            _("{0} is {1!r}; it is a time such as 2030-01-31T09:00:00+00:00.").format(what, text)
        ) from None
    if not 1970 <= at.year < 9999:
        raise InvalidArgument(_("{0} is {1!r}; the year lies between 1970 and 9998.").format(what, text))
    return at


def reason_of(text: str | None) -> str | None:
    if text and len(text) > MAX_REASON:
        raise InvalidArgument(_("reason has {0} characters; at most {1} are kept.").format(len(text), MAX_REASON))
    return text or None


def idempotency_key() -> str | None:
    """The header Idempotency-Key of this request."""
    key = frappe.get_request_header("Idempotency-Key") if getattr(frappe.local, "request", None) else None
    if key is not None and not 0 < len(key.strip()) <= MAX_KEY:
        raise InvalidArgument(
            _("Idempotency-Key has {0} characters; it has 1 to {1}.").format(len(key.strip()), MAX_KEY)
        )
    return key and key.strip()
