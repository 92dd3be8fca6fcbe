"""An organization was renamed. Frappe changes the links to it; the engine's own words for it are changed here."""

from __future__ import annotations

from typing import Any

import frappe

from job_engine.site import tenancy


def after_rename(document: Any, method: str, old: str, new: str, merge: bool = False) -> None:
    if document.doctype != tenancy.tenant_doctype():
        return
    rank = "split_part(lane, '|', 1)" if frappe.db.db_type == "postgres" else "SUBSTRING_INDEX(lane, '|', 1)"
    frappe.db.sql(
        f"""UPDATE `tabBackground Job` SET lane = CONCAT({rank}, '|', queue, '|', organization, '|', job_type)
            WHERE organization = %s""",
        new,
    )  # of those that have ended too: they can be retried, and lists find them by it
    if merge:  # the other organization's own limits and counters stand
        frappe.db.sql("DELETE FROM `__job_engine_control` WHERE scope = 'organization' AND target = %s", old)
        frappe.db.sql("DELETE FROM `__job_engine_stat` WHERE organization = %s", old)
        return
    frappe.db.sql(
        "UPDATE `__job_engine_control` SET target = %s WHERE scope = 'organization' AND target = %s", (new, old)
    )
    frappe.db.sql("UPDATE `__job_engine_stat` SET organization = %s WHERE organization = %s", (new, old))
