"""A clean desk for every handler: what one job leaves in frappe.local, the next one never sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import frappe

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
        self._lang = frappe.db.get_default("lang") or frappe.local.lang
        self._names = frozenset(name for name, _ in frappe.local)

    @contextmanager
    def laid_for(self, user: str) -> Iterator[None]:
        """Be this user, with nothing lying about."""
        self._clear(user)
        try:
            yield
        finally:
            self._clear("Administrator")

    def _clear(self, user: str) -> None:
        local: Any = frappe.local
        for name in [name for name, _ in local if name not in self._names and name not in _LASTING]:
            delattr(local, name)
        frappe.set_user(user)
        local.conf = frappe._dict(self._conf)
        local.flags = frappe._dict(self._flags, currently_saving=[])
        local.lang = self._lang
        local.message_log, local.error_log, local.debug_log = [], [], []
        local.locked_documents = []
        local.response = frappe._dict(docs=[])
        local.request_ip = local.task_id = None
        local.db.value_cache = {}
        local.db.auto_commit_on_many_writes = 0


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
