"""The doctype Organization, for a site that has no doctype for its tenants."""

from __future__ import annotations

import frappe

from job_engine.site.asking import ask
from job_engine.store.session import Session

NAME = "Organization"
MODULE = "Job Engine"


def create_if_missing() -> None:
    """Make a small Organization, unless the site has one: another app's is used as it is and never changed.

    It is made here and not shipped as a file, because a file would overwrite another app's at every migrate.
    """
    if frappe.db.exists("DocType", NAME):
        return
    frappe.get_doc(
        doctype="DocType",
        name=NAME,
        module=MODULE,
        custom=1,
        naming_rule="By fieldname",
        autoname="field:organization_name",
        allow_rename=1,
        track_changes=1,
        fields=[
            {
                "fieldname": "organization_name",
                "fieldtype": "Data",
                "label": "Organization Name",
                "reqd": 1,
                "unique": 1,
                "in_list_view": 1,
            },
            {
                "fieldname": "suspended",
                "fieldtype": "Check",
                "label": "Suspended",
                "in_list_view": 1,
                "in_standard_filter": 1,
                "description": "Its jobs wait until this is off again.",
            },
        ],
        permissions=[
            {"role": "System Manager", **dict.fromkeys(("read", "write", "create", "delete", "report", "export"), 1)},
            {"role": "Job Manager", "read": 1},
            {"role": "Job User", "read": 1},
        ],
    ).insert(ignore_permissions=True)


def is_ours(doctype: str, session: Session | None = None) -> bool:
    """Whether this app made it, so that this app's rules are the only ones."""
    if doctype != NAME:
        return False
    return [*ask("SELECT module FROM `tabDocType` WHERE name = %s", (NAME,), session)] == [(MODULE,)]


def link_jobs_to(doctype: str) -> None:
    """Let a job's organization be a link to this doctype.

    By a property setter: the doctype's file leaves it open, because it must not name what may not be on the site.
    """
    wanted = {"doc_type": "Background Job", "field_name": "organization", "property": "options"}
    if frappe.db.get_value("Property Setter", wanted, "value") == doctype:
        return
    frappe.db.delete("Property Setter", wanted)
    setter = {"doctype": "Background Job", "fieldname": "organization", "property": "options", "value": doctype}
    frappe.make_property_setter({**setter, "property_type": "Small Text"}, is_system_generated=True)
    frappe.clear_cache(doctype="Background Job")
