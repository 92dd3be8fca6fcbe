"""Organizations, users and jobs for tests of a site. Names are new each time: Frappe caches what it knew of a user."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence

import frappe

from job_engine.core.fingerprint import new_names

_counter = itertools.count(1)
_run = uuid.uuid4().hex[:6]
_USERS_ROWS = (
    ("User Permission", "user"),
    ("Has Role", "parent"),
    ("Notification Settings", "name"),
    ("Notification Log", "for_user"),
    ("User", "name"),
)


def organization(label: str = "Org", **fields: object) -> str:
    name = f"{label} {_run}-{next(_counter)}"
    return frappe.get_doc(doctype="Organization", organization_name=name, **fields).insert().name


def user(*roles: str, organizations: tuple[str, ...] = (), default: str | None = None) -> str:
    """A System User with these roles and a User Permission for each organization."""
    email = f"user-{_run}-{next(_counter)}@example.com"
    doc = frappe.get_doc(doctype="User", name=email, email=email, first_name="Test", enabled=1, user_type="System User")
    doc.db_insert()  # the rows as they are: everything else that a new user sets off takes seconds, and no test looks at it
    for role in roles:
        frappe.get_doc(doctype="Has Role", parent=email, parenttype="User", parentfield="roles", role=role).db_insert()
    for name in organizations:
        permit(email, name, is_default=int(name == default))
    return email


def permit(email: str, for_organization: str, **fields: object) -> str:
    doc = frappe.get_doc(
        doctype="User Permission", user=email, allow="Organization", for_value=for_organization, **fields
    )
    return doc.insert(ignore_permissions=True).name


def forget_jobs(organizations: Sequence[str]) -> None:
    """Delete jobs that were committed, with their histories."""
    those = "SELECT name FROM `tabBackground Job` WHERE organization IN %(organizations)s"
    values = {"organizations": organizations}
    frappe.db.sql(f"DELETE FROM `tabJob Execution Log` WHERE job IN ({those})", values)
    frappe.db.sql("DELETE FROM `tabBackground Job` WHERE organization IN %(organizations)s", values)


def forget_users(users: Sequence[str]) -> None:
    """Delete users who were committed, and everything that is kept with a user."""
    if not users:
        return
    for doctype, column in _USERS_ROWS:
        frappe.db.delete(doctype, {column: ["in", users]})
    frappe.db.sql("DELETE FROM `__Auth` WHERE doctype = 'User' AND name IN %(users)s", {"users": users})


def job(of_organization: str, job_type: str = "test_type", status: str = "Completed", **columns: object) -> str:
    """A row as the engine writes it, with no handler behind it."""
    name = new_names(1)[0]
    now = frappe.utils.now_datetime()
    values = {
        "name": name,
        "creation": now,
        "modified": now,
        "owner": "Administrator",
        "modified_by": "Administrator",
        "job_type": job_type,
        "status": status,
        "priority": "Normal",
        "queue": "default",
        "organization": of_organization,
        "user": "Administrator",
        "params": "{}",
        "run_after": now,
        "max_attempts": 5,
        "job_hash": name,
        "lane": f"2|{columns.get('queue', 'default')}|{of_organization}|{job_type}",
        **columns,
    }
    _insert("tabBackground Job", values)
    return name


def log_entry(of_job: str, to_status: str = "Completed") -> int:
    now = frappe.utils.now_datetime()
    _insert("tabJob Execution Log", {"job": of_job, "from_status": "Running", "to_status": to_status, "creation": now})
    return frappe.db.sql("SELECT MAX(name) FROM `tabJob Execution Log` WHERE job = %s", of_job)[0][0]


def _insert(table: str, values: dict[str, object]) -> None:
    columns = ", ".join(f"`{column}`" for column in values)
    places = ", ".join(["%s"] * len(values))
    frappe.db.sql(f"INSERT INTO `{table}` ({columns}) VALUES ({places})", list(values.values()))
