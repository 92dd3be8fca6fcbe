"""Job Engine Settings as the engine's own settings.

Asked for at every enqueue and read from the database at most once a second, so that a change takes effect everywhere without
a restart. Not kept in Redis: there, others would see what a transaction has written and may yet roll back.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import frappe
from frappe.utils import cint

from job_engine.settings import Settings

DOCTYPE = "Job Engine Settings"
FRESH_SECONDS = 1.0

# Those of the engine that an administrator sets.
FIELDS = ("lease_seconds", "heartbeat_seconds", "grace_seconds", "payload_bytes")


@dataclass(frozen=True, slots=True)
class SiteSettings:
    engine: Settings
    tenant_doctype: str
    default_organization: str | None
    max_waiting_jobs: int
    alert_by_email: bool


_known: dict[str, tuple[float, SiteSettings]] = {}  # by site


def read() -> SiteSettings:
    at, known = _known.get(frappe.local.site, (0.0, None))
    if known is None or time.monotonic() - at > FRESH_SECONDS:
        known = _stored()
        _known[frappe.local.site] = time.monotonic(), known
    return known


def engine_settings() -> Settings:
    return read().engine


def forget(*_: Any) -> None:
    """Read again what is stored: now, and once more when the transaction that changed it has ended, either way."""
    _forget_now()
    frappe.db.after_commit.add(_forget_now)
    frappe.db.after_rollback.add(_forget_now)


def _forget_now() -> None:
    _known.pop(frappe.local.site, None)


def _stored() -> SiteSettings:
    """As the database has it. Where there is nothing yet, during the installation, the defaults."""
    stored = dict(frappe.db.sql("SELECT field, value FROM `tabSingles` WHERE doctype = %s", DOCTYPE))
    numbers = {field: cint(stored.get(field)) for field in FIELDS} | {"retention_days": retention_days()}
    return SiteSettings(
        engine=Settings.of(**{field: value for field, value in numbers.items() if value > 0}),
        tenant_doctype=stored.get("tenant_doctype") or "Organization",
        default_organization=stored.get("default_organization") or None,
        max_waiting_jobs=cint(stored.get("max_waiting_jobs")) or 10_000,
        alert_by_email=bool(cint(stored.get("alert_by_email"))),
    )


def retention_days() -> int:
    """Of Log Settings, which clears old jobs and is the one place where this number is kept."""
    found = frappe.db.sql("SELECT days FROM `tabLogs To Clear` WHERE ref_doctype = 'Background Job'")
    return cint(found[0][0]) if found else 0
