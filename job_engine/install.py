"""Putting the app into a site, keeping it right after each migrate, and taking it out without a trace."""

from __future__ import annotations

import click
import frappe

from job_engine.core.errors import JobEngineError
from job_engine.site import job_types, organization, seed, settings, tables, upgrade
from job_engine.site.engines import RunnersEngine

ROLES = ("Job Manager", "Job User")

# What Frappe leaves behind of a doctype that goes with its app.
_NAMING_A_DOCTYPE = {
    "Logs To Clear": "ref_doctype",
    "Property Setter": "doc_type",
    "Custom Field": "dt",
    "Custom DocPerm": "parent",
    "User Permission": "allow",
    "DocShare": "share_doctype",
    "Version": "ref_doctype",
    "Comment": "reference_doctype",
    "List View Settings": "name",
    "Notification Log": "document_type",
}


def after_install() -> None:
    _create_roles()
    organization.create_if_missing()
    _fill_settings()
    tables.create()
    _log_settings_row()
    _list_settings()
    _show_job_types()


def after_migrate() -> None:
    """Everything again: each step leaves alone what is there, and a doctype's sync may have undone a part."""
    after_install()
    upgrade.after_migrate()


def after_app_install(app: str) -> None:
    """Another app was installed, and may have brought job types."""
    _show_job_types()


def before_uninstall() -> None:
    """What only our doctypes' names tell to be ours goes before they do."""
    if frappe.local.conf.get(seed.REMEMBERED):
        seed.remove(RunnersEngine.for_runners())
    doctypes = frappe.get_all("DocType", filters={"module": organization.MODULE}, pluck="name")
    for doctype in doctypes:
        for other, field in _NAMING_A_DOCTYPE.items():
            frappe.db.delete(other, {field: doctype})
    frappe.db.delete("Scheduled Job Type", {"method": ["like", "job_engine.%"]})
    frappe.clear_document_cache("Log Settings", "Log Settings")


def after_uninstall() -> None:
    tables.drop()
    for role in ROLES:
        for table in ("Has Role", "Custom DocPerm", "DocPerm", "Role Profile Role"):
            if frappe.db.exists("DocType", table):
                frappe.db.delete(table, {"role": role})
        frappe.delete_doc("Role", role, ignore_missing=True, force=True, ignore_permissions=True)
    frappe.db.delete("Singles", {"doctype": settings.DOCTYPE})
    frappe.db.commit()
    frappe.clear_cache()


def _create_roles() -> None:
    for role in ROLES:
        if not frappe.db.exists("Role", role):
            frappe.get_doc(doctype="Role", role_name=role, desk_access=1).insert(ignore_permissions=True)


def _fill_settings() -> None:
    """Store the defaults of fields that are new, as Frappe does only for settings that were never saved.

    The tenant doctype has none there: Frappe would look for an Organization before this app could make one.
    """
    stored = frappe.db.get_singles_dict(settings.DOCTYPE)
    defaults = {field.fieldname: field.default for field in frappe.get_meta(settings.DOCTYPE).fields if field.default}
    defaults["tenant_doctype"] = organization.NAME
    for field, value in defaults.items():
        if stored.get(field) is None:
            frappe.db.set_single_value(settings.DOCTYPE, field, value)
    settings.forget()
    organization.link_jobs_to(settings.read().tenant_doctype)


def _show_job_types() -> None:
    """An app whose module cannot be imported must not keep the whole site from being migrated."""
    try:
        job_types.sync()
    except JobEngineError as error:
        click.secho(str(error), fg="yellow", err=True)


def _list_settings() -> None:
    """How Desk lists jobs, until an administrator decides otherwise: all columns, and no counting of tags and comments."""
    if not frappe.db.exists("List View Settings", "Background Job"):
        frappe.get_doc(
            doctype="List View Settings",
            name="Background Job",
            total_fields="8",
            disable_sidebar_stats=1,
            disable_comment_count=1,
        ).insert(ignore_permissions=True)


def _log_settings_row() -> None:
    log_settings = frappe.get_doc("Log Settings")
    if any(row.ref_doctype == "Background Job" for row in log_settings.logs_to_clear):
        return
    log_settings.register_doctype("Background Job", 30)
    log_settings.save(ignore_permissions=True)
