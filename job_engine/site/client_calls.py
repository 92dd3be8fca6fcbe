"""Two calls of Frappe's client that ask for no permission, and do for what is ours.

Link search takes `ignore_user_permissions` from whoever calls it, and then lists every document's name. `get_count` counts
for every user whatever matches a filter: enough to guess another organization's parameters letter by letter.
"""

from __future__ import annotations

from typing import Any

import frappe
from frappe.client import get_count as count_without_permission

from job_engine.site import organization

_OURS = ("Background Job", "Job Execution Log", "Job Type", "Job Engine Settings")


@frappe.whitelist()
def get_count(doctype: str, filters: Any = None, debug: bool = False, cache: bool = False) -> int:
    """In the place of frappe.client.get_count."""
    if doctype not in _OURS and not organization.is_ours(doctype):
        return count_without_permission(doctype, filters, debug, cache)
    filters = frappe.parse_json(filters) if isinstance(filters, str) else filters
    return frappe.get_list(doctype, filters=filters, fields=["count(name) as n"], order_by=None)[0].n


@frappe.whitelist()
@frappe.validate_and_sanitize_search_inputs
def search(
    doctype: str,
    txt: str,
    searchfield: str,
    start: int,
    page_len: int,
    filters: dict[str, Any] | list[Any] | None,
    as_dict: bool = False,
    reference_doctype: str | None = None,
) -> Any:
    others = _search_of_another_app(doctype)
    if others:
        return frappe.call(
            others,
            doctype,
            txt,
            searchfield,
            start,
            page_len,
            filters,
            as_dict=as_dict,
            reference_doctype=reference_doctype,
        )
    meta = frappe.get_meta(doctype)
    shown = list(dict.fromkeys(["name", *meta.get_search_fields()]))
    return frappe.get_list(
        doctype,
        filters=filters,
        or_filters=[[doctype, field, "like", f"%{txt}%"] for field in shown] if txt else None,
        fields=shown,
        limit_start=start,
        limit_page_length=page_len,
        as_list=not as_dict,
    )


def _search_of_another_app(doctype: str) -> Any:
    """Where Organization is another app's, its own search stays in force."""
    if doctype != organization.NAME or organization.is_ours(doctype):
        return None
    ours = f"{search.__module__}.{search.__name__}"
    others = [path for path in frappe.get_hooks("standard_queries").get(doctype, []) if path != ours]
    return frappe.get_attr(others[-1]) if others else None
