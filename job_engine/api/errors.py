"""From an error to an HTTP answer, in one place.

Whoever calls gets a status, the error's own words under `error`, and the same as Frappe's `_server_messages`, which Desk shows.
Nobody gets a traceback or a statement of SQL; those go to the site's Error Log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import frappe
from frappe import _
from frappe.utils import escape_html, strip_html

from job_engine.core.errors import (
    IllegalTransition,
    InvalidJob,
    JobEngineError,
    JobNotFound,
    PayloadTooLarge,
    StoreUnavailable,
)
from job_engine.site.capacity import QueueFull


class Forbidden(JobEngineError):
    """You are not permitted to do this."""


class InvalidArgument(JobEngineError):
    """An argument cannot be understood."""


class TypeDisabled(InvalidJob):
    """The job type is disabled."""


class KeyReused(InvalidJob):
    """The Idempotency-Key was already used for another request."""


class TooManyRequests(JobEngineError):
    """Too many requests."""

    retry_after: int


class Busy(JobEngineError):
    """Others were changing the same rows."""


# The first that fits.
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (PayloadTooLarge, 413),
    (KeyReused, 422),
    (TypeDisabled, 409),
    (JobNotFound, 404),
    (IllegalTransition, 409),
    (Forbidden, 403),
    (QueueFull, 429),
    (TooManyRequests, 429),
    (StoreUnavailable, 503),
    (Busy, 503),
    (JobEngineError, 400),
    (TypeError, 400),  # Frappe's, of an argument's type; others never reach a client as such
)


# What a program may want to read of an error.
_DATA = ("status", "limit", "size", "retry_after")


@contextmanager
def answered() -> Iterator[None]:
    """Give what is raised inside its status and its words for the client."""
    try:
        yield
    except Exception as error:
        status, message = judged(error)
        error.http_status_code = status  # type: ignore[attr-defined]  # where Frappe looks for it
        frappe.local.flags.disable_traceback = True
        data = {word: getattr(error, word) for word in _DATA if hasattr(error, word)}
        frappe.local.response["error"] = {"type": type(error).__name__, "message": message, **data}
        if not any(strip_html(said.get("message") or "") == message for said in frappe.local.message_log):
            frappe.msgprint(escape_html(message), title=_("Job Engine"), indicator="red")
        raise


def judged(error: Exception) -> tuple[int, str]:
    """The HTTP status of an error, and what its caller is told."""
    if isinstance(error, JobEngineError | frappe.exceptions.FrappeTypeError):
        return next(status for kind, status in STATUSES if isinstance(error, kind)), str(error)
    status: Any = getattr(error, "http_status_code", 500)
    if status < 500:  # Frappe's own: somebody said this on purpose
        return status, strip_html(str(error)) or _("This is not possible.")
    return status, _("Something went wrong on the server. The site's Error Log has the details.")
