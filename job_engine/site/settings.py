"""Job Engine Settings as the engine's own settings. Read at every enqueue, so they come from the site's cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import frappe
from frappe.utils import cint

from job_engine.settings import Settings

DOCTYPE = "Job Engine Settings"
_CACHE_KEY = "job_engine_settings"

# Those of the engine that an administrator sets.
FIELDS = ("lease_seconds", "heartbeat_seconds", "grace_seconds", "payload_bytes")


@dataclass(frozen=True, slots=True)
class SiteSettings:
    engine: Settings
    tenant_doctype: str
    default_organization: str | None
    max_waiting_jobs: int
    alert_by_email: bool


def read() -> SiteSettings:
    values: dict[str, Any] = frappe.cache.get_value(_CACHE_KEY, generator=_stored) or {}
    chosen = {field: values[field] for field in FIELDS if values.get(field, 0) > 0}
    return SiteSettings(
        engine=Settings.of(**chosen, retention_days=values.get("retention_days") or 30),
        tenant_doctype=values.get("tenant_doctype") or "Organization",
        default_organization=values.get("default_organization") or None,
        max_waiting_jobs=values.get("max_waiting_jobs") or 10_000,
        alert_by_email=bool(values.get("alert_by_email")),
    )


def engine_settings() -> Settings:
    return read().engine


def forget(*_: Any) -> None:
    """Read again what is stored: now, and once more when the transaction that changed it has ended, either way."""
    frappe.cache.delete_value(_CACHE_KEY)
    frappe.db.after_commit.add(_delete_cached)
    frappe.db.after_rollback.add(_delete_cached)


def _delete_cached() -> None:
    frappe.cache.delete_value(_CACHE_KEY)


def _stored() -> dict[str, Any]:
    """As the database has it. Empty before the doctype is there: during the installation."""
    stored = dict(frappe.db.sql("SELECT field, value FROM `tabSingles` WHERE doctype = %s", DOCTYPE))
    texts = ("tenant_doctype", "default_organization")
    values: dict[str, Any] = {field: stored.get(field) for field in texts}
    values |= {field: cint(stored.get(field)) for field in (*FIELDS, "max_waiting_jobs", "alert_by_email")}
    return values | {"retention_days": retention_days()}


def retention_days() -> int:
    """Of Log Settings, which clears old jobs and is the one place where this number is kept."""
    found = frappe.db.sql("SELECT days FROM `tabLogs To Clear` WHERE ref_doctype = 'Background Job'")
    return cint(found[0][0]) if found else 0
