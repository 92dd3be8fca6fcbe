"""A clean desk for every handler: what one job leaves in frappe.local, the next one never sees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import frappe

# What belongs to the connection or to the site, and outlives a job.
_LASTING = frozenset(
    "site sites_path site_path conf db replica_db primary_db initialised qb dev_server cache jloader valid_columns"
    " module_app app_modules all_apps job_engine".split()
)
# What Frappe and we keep there until the transaction ends.
_PASSING = frozenset({"_realtime_log", "_webhook_queue", "job_engine_known"})


class Desk:
    """Remembers frappe.local as it was before the first handler, and restores that around each."""

    def __init__(self) -> None:
        self._flags = dict(frappe.local.flags)
        self._conf = dict(frappe.local.conf)
        self._lang = frappe.local.lang
        self._job = getattr(frappe.local, "job", None)  # the worker's own, in which all of ours run
        self._names = frozenset(name for name, _ in frappe.local) - _PASSING
        self._request_cache = {  # what the framework itself has found out about the site; all else may be about a user
            function: found
            for function, found in getattr(frappe.local, "request_cache", {}).items()
            if function.__module__ == "frappe"
        }

    def lay_for(self, user: str, job: Any = None) -> None:
        """Be this user, with nothing lying about, in this job."""
        values = {name: value for name, value in frappe.local if name in self._names or name in _LASTING}
        values.update(
            conf=frappe._dict(self._conf),
            flags=frappe._dict(self._flags, currently_saving=[]),
            job=job or self._job,
            lang=self._lang,
            message_log=[],
            error_log=[],
            debug_log=[],
            locked_documents=[],
            response=frappe._dict(docs=[]),
            request_cache=defaultdict(dict, self._request_cache),
            request_ip=None,
            session=frappe._dict(frappe.local.session),  # its own: a neighbour's callbacks may still need theirs
            task_id=None,
        )
        _storage(frappe.local).set(values)
        frappe.set_user(user)
        frappe.local.db.value_cache = {}
        frappe.local.db.auto_commit_on_many_writes = 0


def _storage(local: Any) -> Any:
    """Where werkzeug keeps the values. Written at once, because setting an attribute copies all of them each time."""
    return object.__getattribute__(local, "_Local__storage")


class Place:
    """frappe.local as a handler has left it: its user, its flags, and what Frappe keeps there until the commit."""

    def __init__(self) -> None:
        self._values = _storage(frappe.local).get()

    def has(self, name: str) -> bool:
        """Whether there is something of that name."""
        return bool(self._values.get(name))

    def later(self, callback: Callable[[], None]) -> Callable[[], None]:
        """The callback, to be called as if the handler had not ended."""

        def called() -> None:
            now = _storage(frappe.local).get()
            _storage(frappe.local).set({**self._values, "db": now["db"]})
            try:
                callback()
            finally:
                self._values = _storage(frappe.local).get()
                _storage(frappe.local).set(now)

        return called
