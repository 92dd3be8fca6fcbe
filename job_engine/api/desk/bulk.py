"""Retry or cancel many jobs from the list: those that are checked, or all that match its filter."""

from __future__ import annotations

from collections import Counter
from typing import Any

import frappe
from frappe import _
from typing_extensions import TypedDict

from job_engine.api import answering
from job_engine.api.arguments import json_value, reason_of
from job_engine.api.errors import InvalidArgument
from job_engine.api.method import method
from job_engine.api.retrying import COMMIT_AFTER, LONGEST_SPREAD, MOST_JOBS, retry_all
from job_engine.core.cause import cause_of
from job_engine.core.errors import IllegalTransition, JobNotFound
from job_engine.core.states import CANCELABLE, RETRYABLE, Status
from job_engine.site import by_hand, engine, list_calls

DOCTYPE = list_calls.DOCTYPE
COUNTED = 100_000
LOOKED_AT = 10_000  # jobs whose errors are read for the preview
SHOWN = 20


class Group(TypedDict):
    of: str
    count: int


class BulkPreview(TypedDict):
    """What the action would do, before anything is done."""

    total: int
    total_is_exact: bool  # False: there are more than `total`
    left_out: int  # of those that were checked: their state does not allow it
    by_organization: list[Group]
    by_error: list[Group]
    by_type: list[Group]
    not_idempotent: list[Group]  # types whose work may have an effect twice


class BulkDone(TypedDict):
    changed: int
    remaining: bool  # there are more: call again


@method(managers=True, documented=False)
def preview(action: str, names: list[str] | str | None = None, filters: list[Any] | str | None = None) -> BulkPreview:
    """How many jobs an action would change, of which organizations, types and errors.

    action: retry or cancel.
    names: The jobs that are checked in the list.
    filters: Instead of names, the list's filters.
    """
    chosen = _chosen(action, names, filters)
    rows = _rows(chosen, ["job_type", "organization"], COUNTED + 1)
    errors = _rows(chosen, ["job_type", "last_error", "reason"], LOOKED_AT) if action == "retry" else []
    given = json_value(names, "names")
    types = Counter(row.job_type for row in rows)
    return {
        "total": min(len(rows), COUNTED),
        "total_is_exact": len(rows) <= COUNTED,
        "left_out": len(given) - len(rows) if given else 0,
        "by_organization": _groups(Counter(row.organization for row in rows)),
        "by_error": _groups(Counter(_cause(row) for row in errors)),
        "by_type": _groups(types),
        "not_idempotent": _groups(Counter({t: n for t, n in types.items() if not _is_idempotent(t)})),
    }


@method(changes=True, managers=True, documented=False)
def run(
    action: str,
    names: list[str] | str | None = None,
    filters: list[Any] | str | None = None,
    spread_seconds: float = 0,
    reason: str | None = None,
) -> BulkDone:
    """Do it, for at most 2,000 jobs in one call.

    action: retry or cancel.
    names: The jobs that are checked in the list.
    filters: Instead of names, the list's filters.
    spread_seconds: Let retried jobs become due evenly over so many seconds.
    reason: Kept with canceled jobs.
    """
    if not 0 <= spread_seconds <= LONGEST_SPREAD:
        raise InvalidArgument(
            _("spread_seconds is {0}; it lies between 0 and {1}.").format(spread_seconds, LONGEST_SPREAD)
        )
    reason = reason_of(reason)
    found = [row.name for row in _rows(_chosen(action, names, filters), ["name"], MOST_JOBS, "name asc")]
    changed = retry_all(found, spread_seconds) if action == "retry" else _cancel_all(found, reason)
    return {"changed": changed, "remaining": len(found) == MOST_JOBS}


def _cancel_all(names: list[str], reason: str | None) -> int:
    """A job may be gone with one that it depends on: then it is canceled as well, and nothing is left to do."""
    done = 0
    for name in names:
        try:
            by_hand.cancel(engine(), name, frappe.session.user, reason)
            done += 1
        except (IllegalTransition, JobNotFound):
            continue
        if done % COMMIT_AFTER == 0:
            frappe.db.commit()
    return done


def _chosen(action: str, names: Any, filters: Any) -> list[Any]:
    """The filters of the jobs that the action can change. What somebody canceled is retried only when they ask for it."""
    given, listed = json_value(names, "names"), json_value(filters, "filters")
    if action not in ("retry", "cancel"):
        raise InvalidArgument(_("action is {0!r}; it is retry or cancel.").format(action))
    if given:
        if not isinstance(given, list) or len(given) > MOST_JOBS or not all(isinstance(n, str) for n in given):
            raise InvalidArgument(_("names is a list of 1 to {0} names.").format(MOST_JOBS))
        chosen: list[Any] = [[DOCTYPE, "name", "in", given]]
    elif isinstance(listed, list):
        chosen = listed
    else:
        raise InvalidArgument(_("Either names or filters say which jobs are meant."))
    if action == "cancel":
        not_asked = [DOCTYPE, "cancel_requested_at", "=", None]  # Frappe's "is not set" is no time for PostgreSQL
        return [*chosen, _status(CANCELABLE), not_asked]
    asks_for_state = bool(given) or any(each[-3] == "status" for each in chosen)
    return [*chosen, _status(RETRYABLE if asks_for_state else {Status.DEAD_LETTER})]


def _status(statuses: Any) -> list[Any]:
    return [DOCTYPE, "status", "in", sorted(str(status) for status in statuses)]


def _rows(filters: list[Any], fields: list[str], most: int, order_by: str = "creation desc") -> list[Any]:
    """With the permissions of whoever asks."""
    return frappe.get_list(DOCTYPE, filters=filters, fields=fields, limit=most, order_by=order_by)


def _cause(row: Any) -> str:
    return answering.clean_text(cause_of((row.last_error or row.reason or "")[:500])) or _("(no error)")


def _groups(counts: Counter[str]) -> list[Group]:
    return [{"of": value or "", "count": n} for value, n in counts.most_common(SHOWN)]


def _is_idempotent(job_type: str) -> bool:
    found = engine().registry.get(job_type)
    return found is None or found.idempotent
