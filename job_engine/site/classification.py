"""Frappe's exceptions, judged as the engine judges all others: is another try worth it?"""

from __future__ import annotations

from job_engine.core.classify import Classifier, default_classifier

_TRANSIENT = (
    "frappe.exceptions.QueryDeadlockError",
    "frappe.exceptions.QueryTimeoutError",
    "frappe.exceptions.TooManyRequestsError",
    "frappe.exceptions.RateLimitExceededError",
    "frappe.exceptions.RetryBackgroundJobError",
    "frappe.exceptions.TimestampMismatchError",  # somebody else saved the document meanwhile: read it again
    "frappe.exceptions.DocumentLockedError",
    "frappe.exceptions.InReadOnlyMode",
    "frappe.exceptions.SessionStopped",
    "frappe.exceptions.SessionBootFailed",
    "frappe.utils.file_lock.LockTimeoutError",
)
_PERMANENT = (
    "frappe.exceptions.ValidationError",
    "frappe.exceptions.PermissionError",
    "frappe.exceptions.DoesNotExistError",
    "frappe.exceptions.AuthenticationError",
    "frappe.exceptions.NameError",
    "frappe.exceptions.DataError",
    "frappe.exceptions.UnsupportedMediaType",
)


def site_classifier() -> Classifier:
    return default_classifier.with_overrides(_TRANSIENT, _PERMANENT)
