"""Organizations: which a user may see and act for, which are suspended, which one is meant where none is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import frappe
from frappe import _

from job_engine.core.errors import InvalidJob
from job_engine.site import settings


def tenant_doctype() -> str:
    return settings.read().tenant_doctype


def permitted_organizations(user: str | None = None) -> frozenset[str] | None:
    """The organizations whose jobs the user may see. None: all of them.

    Exactly those of the User Permissions. Elsewhere in Frappe no User Permission means no restriction; here somebody who
    lost the last one must see nothing.
    """
    user = user or frappe.session.user
    if sees_everything(user):
        return None
    return frozenset(_permissions(user))


def sees_everything(user: str) -> bool:
    return user == "Administrator" or "System Manager" in frappe.get_roles(user)


def may_act_for(user: str, organization: str) -> bool:
    permitted = permitted_organizations(user)
    return permitted is None or organization in permitted


def default_organization(user: str | None = None) -> str | None:
    """What is meant when this user names none; None where that is not clear."""
    user = user or frappe.session.user
    if sees_everything(user):
        return _default_of_the_site()
    permitted = _permissions(user)
    return _only([name for name, is_default in permitted.items() if is_default]) or _only(list(permitted))


def _default_of_the_site() -> str | None:
    return settings.read().default_organization or _only(_first_two_organizations())


def exists(organization: str) -> bool:
    doctype = tenant_doctype()
    return _has_table(doctype) and bool(frappe.db.sql(f"SELECT 1 FROM `tab{doctype}` WHERE name = %s", organization))


def required_organization(user: str, given: str | None) -> str:
    """The organization of a new job: the one that is given, or else the user's own, or else the site's."""
    organization = given or default_organization(user) or _default_of_the_site()
    if organization:
        return organization
    raise InvalidJob(
        _(
            "No organization is named, and {0} has no default one. Pass organization=..., mark one of the user's"
            " User Permissions for {1} as the default, or set a default in Job Engine Settings."
        ).format(user, tenant_doctype())
    )


# Suspension --------------------------------------------------------------------------------------------------------------


_SUSPENSION = "job_engine_suspension"  # a key of the site's cache


class Suspension(NamedTuple):
    """How an organization is known to be suspended."""

    doctype: str
    condition: str  # of its documents; empty where the doctype has no way to say it

    @classmethod
    def known(cls) -> Suspension:
        """Kept in the site's cache, which `bench clear-cache` and every change of a doctype empties: each claim asks."""
        return cls(*frappe.cache.get_value(_SUSPENSION, generator=lambda: tuple(cls._found())))

    @staticmethod
    def forget() -> None:
        frappe.cache.delete_value(_SUSPENSION)

    @classmethod
    def _found(cls) -> Suspension:
        """Tenant doctypes say it in different ways. One that has no way is never suspended."""
        doctype = tenant_doctype()
        if not _has_table(doctype):
            return cls(doctype, "")
        fields = {field.fieldname: field.fieldtype for field in frappe.get_meta(doctype).fields}
        conditions = [
            f"`{field}` = {value}"
            for field, fieldtypes, value in (
                ("suspended", ("Check",), "1"),
                ("disabled", ("Check",), "1"),
                ("enabled", ("Check",), "0"),
                ("status", ("Select", "Data"), "'Suspended'"),
            )
            if fields.get(field) in fieldtypes
        ]
        return cls(doctype, " OR ".join(conditions))


# User Permissions ----------------------------------------------------------------------------------------------------------


def _permissions(user: str) -> dict[str, bool]:
    """Organizations of the user's User Permissions, and whether each is the default.

    Read from the table and not from Frappe's cache, which keeps what a transaction wrote that was rolled back.
    """
    return once_per_transaction(("permissions", user), lambda: _read_permissions(user))


def _read_permissions(user: str) -> dict[str, bool]:
    doctype = tenant_doctype()
    rows = frappe.db.sql(
        """SELECT for_value, is_default, hide_descendants FROM `tabUser Permission`
            WHERE `user` = %s AND allow = %s
            AND (apply_to_all_doctypes = 1 OR applicable_for IS NULL OR applicable_for IN ('', 'Background Job'))""",
        (user, doctype),
    )
    permitted = {name: bool(is_default) for name, is_default, _ in rows}
    if rows and _has_table(doctype) and frappe.get_meta(doctype).is_nested_set():
        for name, _, hides_descendants in rows:
            if not hides_descendants:
                for descendant in frappe.db.get_descendants(doctype, name):
                    permitted.setdefault(descendant, False)
    return permitted


def once_per_transaction(key: Any, read: Callable[[], Any]) -> Any:
    """An answer that is kept until the transaction ends: a loop of a thousand enqueues asks once."""
    known = getattr(frappe.local, "job_engine_known", None)
    if known is None:
        known = frappe.local.job_engine_known = {}
        frappe.db.after_commit.add(forget)
        frappe.db.after_rollback.add(forget)
    if key not in known:
        known[key] = read()
    return known[key]


def forget(*_: Any) -> None:
    """Ask the database again. Called when a transaction ends and when a User Permission changes."""
    frappe.local.job_engine_known = None


def _first_two_organizations() -> list[str]:
    doctype = tenant_doctype()
    return [row[0] for row in frappe.db.sql(f"SELECT name FROM `tab{doctype}` LIMIT 2")] if _has_table(doctype) else []


def _has_table(doctype: str) -> bool:
    return bool(frappe.db.sql("SELECT name FROM `tabDocType` WHERE name = %s", doctype))


def _only(names: list[str]) -> str | None:
    return names[0] if len(names) == 1 else None
