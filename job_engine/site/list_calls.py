"""The calls behind Desk's lists and reports, for jobs: bounded, and with texts that are texts.

A table of a million rows is sorted and searched in part.

Desk lets people sort by any column and filter by any. Where no index has the order or the filter, a database would read
every row for a page of twenty. Here it reads the newest only, and the bound is a filter like any other: `creation >`. Where
it left something out, the answer says so beside its message, as `bounded`, and the list tells whoever looks at it.

Desk shows texts as HTML in lists and reports: Frappe cleans what is saved through a form. What the engine saves, such as an
error that a handler has raised, is escaped here, except for the list of jobs, whose cells escape it themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import frappe
from frappe.desk import reportview
from frappe.utils import escape_html

DOCTYPE = "Background Job"
LOG = "Job Execution Log"
SORTED = 20_000  # of the newest matches, so many are sorted where no index has the order
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
    rows = reportview.execute(**(bounded(args) if doctype == DOCTYPE else args))
    return reportview.compress(rows if (doctype, view) == (DOCTYPE, "List") else escaped(rows), args=args)


@frappe.whitelist()
def get_list() -> Any:
    """In the place of frappe.desk.reportview.get_list."""
    if frappe.form_dict.get("doctype") != DOCTYPE:
        return reportview.get_list()
    return reportview.execute(**bounded(reportview.get_form_params()))


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


def bounded(args: Any) -> Any:
    """The arguments of a query with bounds on what it reads."""
    args.filters = searched(_as_list(args.get("filters")))
    column = _column(args.get("order_by"))
    if args.get("group_by") or (column and column not in _IN_ORDER):
        newest = _newest(args.filters, args.get("or_filters"), SORTED)
        args.filters = [*args.filters, *newest]
        _tell("sorted", SORTED, newest)
    return args


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


def _column(order_by: str | None) -> str | None:
    """The first column of an ORDER BY as Desk writes it: `tabBackground Job`.`attempts` desc."""
    first = (order_by or "").split(",")[0]
    words = re.findall(r"\w+", re.sub(r"`?tabBackground Job`?\s*\.", "", first))
    return words[0] if words else None


def _as_list(filters: Any) -> list[Any]:
    filters = frappe.parse_json(filters) if isinstance(filters, str) else filters
    if isinstance(filters, dict):
        pairs = ((k, v if isinstance(v, list | tuple) else ("=", v)) for k, v in filters.items())
        return [[DOCTYPE, field, operator, value] for field, (operator, value) in pairs]
    return list(filters or [])
