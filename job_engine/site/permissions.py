"""Whose jobs a user sees, as Frappe's permission hooks ask it: conditions for lists, a yes or no for documents.

Lists, reports, counts, link search and the REST API all go through these. A hook can only deny: what a role does not allow,
it does not give.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import frappe

from job_engine.site import organization, tenancy

_NOTHING = "1 = 0"


# Lists -------------------------------------------------------------------------------------------------------------------


def job_conditions(user: str | None = None) -> str:
    return _conditions(user, "`tabBackground Job`")


def log_conditions(user: str | None = None) -> str:
    """By the log's job, looked up by its primary key."""
    conditions = _conditions(user, "job")
    if conditions in ("", _NOTHING):
        return conditions
    return (
        f"EXISTS (SELECT 1 FROM `tabBackground Job` job WHERE job.name = `tabJob Execution Log`.job AND {conditions})"
    )


def job_type_conditions(user: str | None = None) -> str:
    user = user or frappe.session.user
    return "" if tenancy.sees_everything(user) else _without_hidden_types(user, "`tabJob Type`.name") or ""


def organization_conditions(user: str | None = None) -> str:
    permitted = tenancy.permitted_organizations(user)
    if permitted is None or not organization.is_ours(organization.NAME):
        return ""
    return f"`tabOrganization`.name IN ({_listed(permitted)})" if permitted else _NOTHING


def _conditions(user: str | None, table: str) -> str:
    user = user or frappe.session.user
    permitted = tenancy.permitted_organizations(user)
    if permitted is None:
        return ""
    if not permitted:
        return _NOTHING
    types = _without_hidden_types(user, f"{table}.job_type")
    return " AND ".join(filter(None, (f"{table}.organization IN ({_listed(permitted)})", types)))


def _without_hidden_types(user: str, column: str) -> str | None:
    hidden = hidden_types(user)
    return f"{column} NOT IN ({_listed(hidden)})" if hidden else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(frappe.db.escape(name, percent=False) for name in sorted(names))


# Documents ---------------------------------------------------------------------------------------------------------------


def may_see_job(doc: Any, ptype: str | None = None, user: str | None = None) -> bool | None:
    return _denied(not _may_see(user or frappe.session.user, doc.get("organization"), doc.get("job_type")))


def may_see_log(doc: Any, ptype: str | None = None, user: str | None = None) -> bool | None:
    user = user or frappe.session.user
    if tenancy.sees_everything(user):
        return None
    job = frappe.db.get_value("Background Job", doc.get("job"), ["organization", "job_type"], as_dict=True)
    return _denied(job is None or not _may_see(user, job.organization, job.job_type))


def may_see_job_type(doc: Any, ptype: str | None = None, user: str | None = None) -> bool | None:
    user = user or frappe.session.user
    return _denied(not tenancy.sees_everything(user) and doc.get("name") in hidden_types(user))


def may_see_organization(doc: Any, ptype: str | None = None, user: str | None = None) -> bool | None:
    """Frappe's Socket.IO server asks this before it lets a client into the organization's room."""
    if not organization.is_ours(doc.doctype):
        return None
    permitted = tenancy.permitted_organizations(user)
    return _denied(permitted is not None and doc.get("name") not in permitted)


def _may_see(user: str, of_organization: str | None, job_type: str | None) -> bool:
    permitted = tenancy.permitted_organizations(user)
    return permitted is None or (of_organization in permitted and job_type not in hidden_types(user))


def _denied(is_denied: bool) -> bool | None:
    return False if is_denied else None  # None: the next hook may still deny


def hidden_types(user: str) -> frozenset[str]:
    """Job types that name the roles that may see them, none of which the user has."""
    return tenancy.once_per_transaction(("hidden types", user), lambda: _read_hidden_types(user))


def _read_hidden_types(user: str) -> frozenset[str]:
    roles = set(frappe.get_roles(user))
    needed: dict[str, set[str]] = {}
    for job_type, role in frappe.db.sql("SELECT parent, role FROM `tabJob Type Role` WHERE parenttype = 'Job Type'"):
        needed.setdefault(job_type, set()).add(role)
    return frozenset(job_type for job_type, any_of in needed.items() if not any_of & roles)
