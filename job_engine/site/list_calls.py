"""The calls behind Desk's lists and reports, for jobs: in order, bounded, and with texts that are texts.

Desk lets people sort by any column and filter by any. A database that has no index for them would read every row for a page
of twenty. What the list and the API sort by comes in order as `sorting` knows how. By another column of a report, the newest
matches are sorted only, and by a filter without an index the newest jobs are searched only: the bound is a filter like any
other, `creation >`. Where it left something out, the answer says so beside its message, as `bounded`, and the list tells
whoever looks at it.

Desk shows texts as HTML in lists and reports: Frappe cleans what is saved through a form. What the engine saves, such as an
error that a handler has raised, is escaped here, except for the list of jobs, whose cells escape it themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import frappe
from frappe.desk import reportview
from frappe.model.db_query import DatabaseQuery
from frappe.utils import cint, escape_html

from job_engine.site import sorting, tenancy
from job_engine.site.orders import ORDERS, Question, Which

DOCTYPE = "Background Job"
LOG = "Job Execution Log"
SORTED = 20_000  # of the newest matches, so many are sorted where nothing has the order
SEARCHED = 100_000  # of the newest jobs, so many are searched where no index has the filter

_IN_ORDER = ("creation", "name")  # names are in the order of time
_INDEXED = ("name", "creation", "job_type", "organization", "status", "user", "dedup_slot")
_BY_INDEX = ("=", "in", ">", ">=", "<", "<=", "between", "timespan")


@frappe.whitelist()
def get() -> Any:
    """In the place of frappe.desk.reportview.get."""
    doctype, view = frappe.form_dict.get("doctype"), frappe.form_dict.get("view")
    if doctype not in (DOCTYPE, LOG):
        return reportview.get()
    args = reportview.get_form_params()
    rows = _jobs(args) if doctype == DOCTYPE else reportview.execute(**args)
    return reportview.compress(rows if (doctype, view) == (DOCTYPE, "List") else escaped(rows), args=args)


@frappe.whitelist()
def get_list() -> Any:
    """In the place of frappe.desk.reportview.get_list."""
    if frappe.form_dict.get("doctype") != DOCTYPE:
        return reportview.get_list()
    return _jobs(reportview.get_form_params())


def escaped(rows: list[Any]) -> list[Any]:
    for row in rows:
        for field, value in row.items():
            if isinstance(value, str):
                row[field] = escape_html(value)
    return rows


@frappe.whitelist()
def get_count() -> int:
    """In the place of frappe.desk.reportview.get_count. Desk asks for at most 1,001, and for all only when told to."""
    if frappe.form_dict.get("doctype") == DOCTYPE:
        frappe.form_dict.filters = searched(_as_list(frappe.form_dict.get("filters")))
    return reportview.get_count()


def _jobs(args: Any) -> list[Any]:
    """What is asked for, in order where that can be had, and bounded where not."""
    asked_for = _as_list(args.get("filters"))
    args.filters = searched(asked_for)
    column, descending = _order(args.get("order_by"))
    is_bounded = args.filters != asked_for
    if args.get("group_by") or (column and column not in _IN_ORDER and not is_bounded):
        can_be_sorted = column in ORDERS and not args.get("group_by") and _length(args)
        wanted = _wanted(args) if can_be_sorted else None
        if wanted is not None:
            return _in_order(args, wanted, str(column), descending)
        newest = _newest(args.filters, args.get("or_filters"), SORTED)
        args.filters = [*args.filters, *newest]
        _tell("sorted", SORTED, newest)
    return reportview.execute(**args)


def _in_order(args: Any, wanted: Which, column: str, descending: bool) -> list[Any]:
    """First which jobs are on the page, then what is asked of them."""
    start = cint(args.get("start") or args.get("limit_start"))
    hole = "\0"  # for the conditions, which come last: they have per cent signs and braces of their own
    words = {"job": f"`tab{DOCTYPE}`", "user": "`user`"}

    def run(template: str, parameters: Sequence[Any]) -> Any:
        literals = tuple(p if isinstance(p, int) else frappe.db.escape(str(p), percent=False) for p in parameters)
        return frappe.db.sql((template.format_map(words) % literals).replace(hole, wanted.condition))

    asked = Question(replace(wanted, condition=hole), column, descending, start, _length(args))
    names = sorting.names(run, frappe.db.db_type != "postgres", asked)
    if not names:
        return []
    page = {"filters": [[DOCTYPE, "name", "in", names]], "or_filters": None, "order_by": None, "start": 0}
    place = {name: i for i, name in enumerate(names)}
    rows = reportview.execute(**{**args, **page, "page_length": len(names)})
    return sorted(rows, key=lambda row: place[row.name])


def _wanted(args: Any) -> Which | None:
    """What Frappe would look for, the user's permissions included; nothing where that is more than jobs."""
    query = DatabaseQuery(DOCTYPE)
    query.execute(fields=["name"], filters=args.filters, or_filters=args.get("or_filters"), run=False)
    if len(query.tables) > 1 or query.link_tables or query.or_conditions or "name" not in _fields(args):
        return None
    wanted = Which(" AND ".join(f"({condition})" for condition in ["1 = 1", *query.conditions]))
    permitted = tenancy.permitted_organizations(frappe.session.user)
    if permitted is not None:
        wanted = wanted.with_given("organization", sorted(permitted))
    for *_, field, operator, value in (each[:4] for each in args.filters):
        if field == "creation":
            wanted = replace(wanted, is_of_a_time=True)
        elif operator == "=" and isinstance(value, str):
            wanted = wanted.with_given(field, [value])
        elif operator == "in" and isinstance(value, list):
            wanted = wanted.with_given(field, value)
    return wanted


def _length(args: Any) -> int:
    return cint(args.get("page_length") or args.get("limit_page_length"))


def _fields(args: Any) -> set[str]:
    return {re.findall(r"\w+", field)[-1] for field in args.fields}


def searched(filters: list[Any]) -> list[Any]:
    """The filters, and one for the newest jobs where a filter has no index."""
    if all(_has_index(each) for each in filters):
        return filters
    newest = _newest([], None, SEARCHED)
    _tell("searched", SEARCHED, newest)
    return [*filters, *newest]


def _tell(what: str, most: int, bound: list[Any]) -> None:
    if bound:
        frappe.local.response.setdefault("bounded", {})[what] = most


def _newest(filters: list[Any], or_filters: Any, most: int) -> list[list[Any]]:
    """The newest `most` jobs that match, as a filter; none where there are not more."""
    found = reportview.execute(
        DOCTYPE,
        fields=["creation"],
        filters=filters,
        or_filters=or_filters,
        order_by="`tabBackground Job`.creation desc",
        limit_start=most,
        limit_page_length=1,
    )
    return [[DOCTYPE, "creation", ">", str(found[0].creation)]] if found else []


def _has_index(each: Iterable[Any]) -> bool:
    *_, field, operator, _value = [*each][:4] if len([*each]) >= 4 else [None, *each]
    return field in _INDEXED and str(operator).lower() in _BY_INDEX


def _order(order_by: str | None) -> tuple[str | None, bool]:
    """The first column of an ORDER BY as Desk writes it, `tabBackground Job`.`attempts` desc, and whether it descends."""
    first = (order_by or "").split(",")[0]
    words = re.findall(r"\w+", re.sub(r"`?tabBackground Job`?\s*\.", "", first))
    return (words[0] if words else None), words[-1:] == ["desc"] or words[-1:] == ["DESC"]


def _as_list(filters: Any) -> list[Any]:
    filters = frappe.parse_json(filters) if isinstance(filters, str) else filters
    if isinstance(filters, dict):
        pairs = ((k, v if isinstance(v, list | tuple) else ("=", v)) for k, v in filters.items())
        return [[DOCTYPE, field, operator, value] for field, (operator, value) in pairs]
    return list(filters or [])
