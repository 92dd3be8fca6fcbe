"""A table that has been in use for long: does the drain slow down, and do people wait for lists and numbers?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any

import frappe

from benchmarks import report
from benchmarks.report import Figure
from benchmarks.rounds import Entry, Plan, take_turns
from benchmarks.site import bench, full_tables
from benchmarks.site.contenders import Ours
from job_engine.site import engine, list_calls, listing

_GROUP = "Growth"
_AT_LEAST = 0.8
_MOST_MS = 300.0
_LOOKS = 5


def measure(plan: Plan) -> Iterator[Figure]:
    table = f"{plan.history:,} finished jobs"
    with plan.console.status(f"making {table}"):
        full_tables.make(plan.history)
    try:
        grown, empty = take_turns(plan, [Entry(_grown), Entry(_empty)])
        yield report.ratio(_GROUP, f"drain with {table} in the table", grown, empty, "an empty table", _AT_LEAST)
        full_tables.swap(full=True)
        full_tables.count_them(plan.history)
        for user in ("Administrator", _manager()):
            frappe.set_user(user)
            who = "everybody's" if user == "Administrator" else "one organization's"
            for what, look in _views(user).items():
                yield _time(f"{what}, {who}, {table}", look)
            for what, filters in _FILTERS.items():
                yield _time_sorts(f"list, first page{what}, sorted by the slowest column, {who}, {table}", filters)
            yield _time_filters(f"list, first page, filtered by the slowest column, {who}, {table}", _page)
            yield _time_filters(f"list, count, filtered by the slowest column, {who}, {table}", _count)
    finally:
        frappe.set_user("Administrator")
        full_tables.swap(full=False)


def _grown(_: Any) -> Ours:
    full_tables.swap(full=True)
    return Ours()


def _empty(_: Any) -> Ours:
    full_tables.swap(full=False)
    return Ours()


# What people look at ---------------------------------------------------------------------------------------------------------


def _manager() -> str:
    email = "manager-of-one@example.com"
    bench.organization("Organization 1")
    if not frappe.db.exists("User", email):
        frappe.get_doc(doctype="User", email=email, first_name="Manager", roles=[{"role": "Job Manager"}]).insert()
        frappe.get_doc(doctype="User Permission", user=email, allow="Organization", for_value="Organization 1").insert()
        frappe.db.commit()
    return email


def _views(user: str) -> dict[str, Callable[[], Any]]:
    organization = None if user == "Administrator" else "Organization 1"
    dead = _FILTERS[", Dead Letter"]
    return {
        "list, first page": lambda: _page([]),
        "list, first page, Dead Letter": lambda: _page(dead),
        "list, count": lambda: _count([]),
        "list, count, Dead Letter": lambda: _count(dead),
        "metrics": lambda: engine().metrics(organization),
    }


_FILTERS: dict[str, list[Any]] = {
    "": [],
    ", Dead Letter": [["Background Job", "status", "=", "Dead Letter"]],
    ", Completed": [["Background Job", "status", "=", "Completed"]],
    ", one type": [["Background Job", "job_type", "=", "type_3"]],
}


# By every column: what many have, what few have, and what none has.
_BY_COLUMN: dict[str, list[tuple[str, Any]]] = {
    "attempts": [("=", 1), ("=", 3), ("=", 77), (">", 4)],
    "max_attempts": [("=", 3), ("=", 77)],
    "progress": [(">", 99), ("<", 10), ("=", 33)],
    "error_type": [("=", "Transient"), ("is", "set"), ("is", "not set")],
    "queue": [("=", "long"), ("like", "%on%"), ("=", "none")],
    "priority": [("=", "Low"), ("!=", "Low")],
    "status": [("!=", "Completed"), ("like", "%etter%")],
    "job_type": [("like", "%_3"), ("!=", "type_1"), ("like", "%none%")],
    "organization": [("like", "%7%"), ("!=", "Organization 1")],
    "user": [("like", "%user-7@%"), ("is", "not set")],
    "run_after": [("timespan", "last week"), ("timespan", "last month"), ("timespan", "next week")],
    "started_at": [("timespan", "last week"), ("timespan", "last month"), ("is", "not set")],
    "ended_at": [("timespan", "last week"), ("timespan", "last month"), ("is", "not set")],
    "lease_owner": [("like", "%worker%")],
}


def _asked(filters: list[Any], **more: Any) -> None:
    """What Desk's list view sends."""
    fields = ["name", "owner", "creation", "modified", "modified_by", "docstatus", "status", "job_type", "organization"]
    frappe.local.form_dict = frappe._dict(
        doctype="Background Job",
        fields=frappe.as_json([f"`tabBackground Job`.`{field}`" for field in fields]),
        filters=frappe.as_json(filters),
        **more,
    )


def _page(filters: list[Any], column: str = "creation", way: str = "desc") -> Any:
    _asked(filters, order_by=f"`tabBackground Job`.`{column}` {way}", start=0, page_length=20)
    found = list_calls.get()  # what Desk calls
    assert "bounded" not in frappe.local.response
    return found


def _count(filters: list[Any]) -> Any:
    """The list asks for at most 1,001: above that it shows "1000+"."""
    _asked(filters, distinct="false", limit=1001)
    return list_calls.get_count()


def _time(what: str, look: Callable[[], Any]) -> Figure:
    seconds = _milliseconds(look)
    rounds = ", ".join(f"{one:.0f}" for one in seconds)
    return report.at_most(_GROUP, what, median(seconds), " ms", _MOST_MS, rounds)


def _time_sorts(what: str, filters: list[Any]) -> Figure:
    """One figure for all that a list can be sorted by, both ways: the slowest."""
    taken = {
        f"{column} {way}": median(_milliseconds(lambda column=column, way=way: _page(filters, column, way)))
        for column in listing.SORTABLE
        for way in ("asc", "desc")
    }
    return _slowest(what, taken)


def _time_filters(what: str, look: Callable[[list[Any]], Any]) -> Figure:
    """One figure for all that a list can be filtered by, the newest first: the slowest."""
    taken = {
        f"{column} {operator} {value}": median(
            _milliseconds(lambda f=["Background Job", column, operator, value]: look([f]))
        )
        for column, filters in _BY_COLUMN.items()
        for operator, value in filters
    }
    return _slowest(what, taken)


def _slowest(what: str, taken: dict[str, float]) -> Figure:
    slowest = sorted(taken, key=lambda look: -taken[look])[:5]
    rounds = ", ".join(f"{look}: {taken[look]:.0f}" for look in slowest)
    return report.at_most(_GROUP, what, taken[slowest[0]], " ms", _MOST_MS, rounds)


def _milliseconds(look: Callable[[], Any]) -> list[float]:
    look()  # caches of Frappe's own
    taken = []
    for _ in range(_LOOKS):
        frappe.db.rollback()
        start = perf_counter()
        look()
        taken.append((perf_counter() - start) * 1000)
    return taken
