"""The calls behind Desk's lists and reports, for jobs: in order, exact wherever that is quick, and with texts that are texts.

Desk lets people sort by any column and filter by any. A database that has no index for them would read every row for a page
of twenty. What the list shows comes in order as `sorting` knows how, and is found as `narrowing` knows where. What is left is
bounded: by another column of a report, the newest matches are sorted, and by a filter that nothing is known of, such as a word
in the parameters, the newest jobs are searched. The bound is a filter like any other, `creation >`: whoever filters by that has
chosen what is searched. Where a bound left something out, the answer says so beside its message, as `bounded`, and the list
tells it.

Desk shows texts as HTML in lists and reports: Frappe cleans what is saved through a form. What the engine saves, such as an
error that a handler has raised, is escaped here, except for the list of jobs, whose cells escape it themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import frappe
from frappe.desk import reportview
from frappe.model.db_query import DatabaseQuery
from frappe.utils import cint, escape_html

from job_engine.site import narrowing, sorting, tenancy
from job_engine.site.narrowing import Filter
from job_engine.site.orders import AGE, ORDERS
from job_engine.site.walking import Question, Which

DOCTYPE = "Background Job"
LOG = "Job Execution Log"
SORTED = 20_000  # of the newest matches, so many are sorted where nothing has the order
SEARCHED = 100_000  # of the newest jobs, so many are searched where no index has the filter

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
    asked = frappe.form_dict
    if asked.get("doctype") != DOCTYPE:
        return reportview.get_count()
    filters = _as_list(asked.get("filters"))
    if all(_has_index(each) for each in filters):
        return reportview.get_count()
    wanted = _wanted(filters, asked.get("or_filters"))
    if wanted is None:
        asked.filters = _searched(filters)
        return reportview.get_count()
    most = f" LIMIT {cint(asked.limit)}" if asked.get("limit") else ""
    counted = f"SELECT COUNT(*) FROM (SELECT 1 FROM {wanted.source}{most}) counted"
    return int(_run(counted, wanted.source_parameters)[0][0])


def _jobs(args: Any) -> list[Any]:
    """What is asked for, in order and exact where that can be had, and bounded where not."""
    filters = args.filters = _as_list(args.get("filters"))
    column, descending = _order(args.get("order_by"))
    is_grouped = bool(args.get("group_by"))
    has_index = all(_has_index(each) for each in filters)
    is_by_age = column in AGE and not is_grouped
    if has_index and is_by_age:
        return reportview.execute(**args)
    if column in ORDERS and not is_grouped and _length(args) and "name" in _fields(args):
        wanted = _wanted(filters, args.get("or_filters"), column, descending)
        if wanted is not None:
            return _in_order(args, wanted, column, descending)
    if not has_index:
        args.filters = _searched(filters)
    if not is_by_age and args.filters == filters:
        newest = _newest(filters, args.get("or_filters"), SORTED)
        args.filters = [*filters, *newest]
        _tell("sorted", SORTED, newest)
    return reportview.execute(**args)


def _in_order(args: Any, wanted: Which, column: str, descending: bool) -> list[Any]:
    """First which jobs are on the page, then what is asked of them."""
    start = cint(args.get("start") or args.get("limit_start"))
    names = sorting.names(_run, _can_walk(), Question(wanted, column, descending, start, _length(args)))
    if not names:
        return []
    page = {"filters": [[DOCTYPE, "name", "in", names]], "or_filters": None, "order_by": None, "start": 0}
    place = {name: i for i, name in enumerate(names)}
    rows = reportview.execute(**{**args, **page, "page_length": len(names)})
    return sorted(rows, key=lambda row: place[row.name])


def _run(template: str, parameters: Sequence[Any]) -> Any:
    words = {"job": f"`tab{DOCTYPE}`", "user": "`user`", "dependency": "`__job_engine_dependency`"}
    literals = tuple(p if isinstance(p, int) else frappe.db.escape(str(p), percent=False) for p in parameters)
    return frappe.db.sql(template.format_map(words) % literals)


def _can_walk() -> bool:
    return frappe.db.db_type != "postgres"


def _wanted(filters: list[Any], or_filters: Any, sort: str | None = None, descending: bool = True) -> Which | None:
    """What Frappe would look for, the user's permissions included; nothing where that is more than jobs, or too long a search."""
    query = DatabaseQuery(DOCTYPE)
    query.execute(fields=["name"], filters=filters, or_filters=or_filters, run=False)
    if len(query.tables) > 1 or query.link_tables or query.or_conditions:
        return None
    conditions = [_as_template(condition) for condition in query.conditions]
    wanted = Which(
        " AND ".join(f"({condition})" for condition in ["1 = 1", *conditions]),
        columns=frozenset(re.findall(r"\{job\}\.`?(\w+)", " ".join(conditions))),
    )
    permitted = tenancy.permitted_organizations(frappe.session.user)
    if permitted is not None:
        wanted = wanted.with_given("organization", sorted(permitted))
    for *_, field, operator, value in (each[:4] for each in filters):
        if field == "creation":
            wanted = replace(wanted, is_of_a_time=True)
        elif operator == "=" and isinstance(value, str):
            wanted = wanted.with_given(field, [value])
        elif operator == "in" and isinstance(value, list):
            wanted = wanted.with_given(field, value)
    if all(_has_index(each) for each in filters):
        return wanted
    if _can_walk():
        known = [_filter(*both) for both in zip(filters, conditions, strict=False)]
        wanted = narrowing.narrowed(_run, wanted, known, sort, descending)
    is_quick = all(_has_index(each) or _field(each) in narrowing.KNOWN for each in filters)
    is_small = wanted.is_of_a_time or (wanted.within is not None and wanted.within.is_small)
    return wanted if is_quick or is_small else None


def _filter(each: Sequence[Any], condition: str) -> Filter:
    *_, field, operator, value = each[:4]
    operator = str(operator).lower()
    return Filter(field, f"is {value}" if operator == "is" else operator, condition)


def _as_template(condition: str) -> str:
    """Frappe's SQL, in which per cent signs and braces are part of what people wrote."""
    for sign in "%{}":
        condition = condition.replace(sign, sign * 2)
    return condition.replace(f"`tab{DOCTYPE}`", "{job}")


def _length(args: Any) -> int:
    return cint(args.get("page_length") or args.get("limit_page_length"))


def _fields(args: Any) -> set[str]:
    return {re.findall(r"\w+", field)[-1] for field in args.fields}


def _searched(filters: list[Any]) -> list[Any]:
    """The filters, and one for the newest jobs."""
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


def _field(each: Sequence[Any]) -> str:
    return str(each[1])


def _has_index(each: Sequence[Any]) -> bool:
    *_, operator, _value = each[:4]
    return _field(each) in _INDEXED and str(operator).lower() in _BY_INDEX


def _order(order_by: str | None) -> tuple[str, bool]:
    """The first column of an ORDER BY as Desk writes it, `tabBackground Job`.`attempts` desc, and whether it descends. The newest
    come first where nobody asks for an order."""
    first = (order_by or "").split(",")[0]
    words = re.findall(r"\w+", re.sub(r"`?tabBackground Job`?\s*\.", "", first))
    return (words[0], words[-1].lower() == "desc") if words else (AGE[0], True)


def _as_list(filters: Any) -> list[Any]:
    """Each as doctype, field, operator and value."""
    filters = frappe.parse_json(filters) if isinstance(filters, str) else filters
    if isinstance(filters, dict):
        pairs = ((k, v if isinstance(v, list | tuple) else ("=", v)) for k, v in filters.items())
        return [[DOCTYPE, field, operator, value] for field, (operator, value) in pairs]
    ways = {2: lambda field, value: [DOCTYPE, field, "=", value], 3: lambda *each: [DOCTYPE, *each]}
    return [ways.get(len(each), lambda *each: [*each])(*each) for each in filters or []]
