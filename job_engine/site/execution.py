"""A clean desk for every handler: what one job leaves in frappe.local, the next one never sees."""

from __future__ import annotations

from typing import Any

import frappe
from frappe.utils.file_lock import release_document_locks

# What belongs to the connection, to the worker's own RQ job or to the site, and outlives a job.
_LASTING = frozenset(
    "site sites_path site_path conf db replica_db primary_db job initialised qb dev_server cache jloader valid_columns"
    " module_app app_modules all_apps job_engine _realtime_log".split()
)


class Desk:
    """Remembers frappe.local as it was before the first handler, and restores that around each."""

    def __init__(self) -> None:
        self._flags = dict(frappe.local.flags)
        self._conf = dict(frappe.local.conf)
        self._lang = frappe.local.lang
        self._names = frozenset(name for name, _ in frappe.local)

    def lay_for(self, user: str) -> None:
        """Be this user, with nothing lying about."""
        if frappe.local.locked_documents:
            release_document_locks()
        frappe.set_user(user)
        values = {name: value for name, value in frappe.local if name in self._names or name in _LASTING}
        values.update(
            conf=frappe._dict(self._conf),
            flags=frappe._dict(self._flags, currently_saving=[]),
            lang=self._lang,
            message_log=[],
            error_log=[],
            debug_log=[],
            locked_documents=[],
            response=frappe._dict(docs=[]),
            request_ip=None,
            task_id=None,
        )
        _storage(frappe.local).set(values)
        frappe.local.db.value_cache = {}
        frappe.local.db.auto_commit_on_many_writes = 0


def _storage(local: Any) -> Any:
    """Where werkzeug keeps the values. Written at once, because setting an attribute copies all of them each time."""
    return object.__getattribute__(local, "_Local__storage")


def mark_realtime() -> int | None:
    """How many realtime messages wait for the commit; None: there are none."""
    waiting = getattr(frappe.local, "_realtime_log", None)
    return None if waiting is None else len(waiting)


def forget_realtime(mark: int | None) -> None:
    """Drop the messages that came after the mark: their job was rolled back."""
    if mark is not None and hasattr(frappe.local, "_realtime_log"):
        del frappe.local._realtime_log[mark:]
    elif hasattr(frappe.local, "_realtime_log"):
        del frappe.local._realtime_log
