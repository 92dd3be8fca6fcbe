"""Job Engine Settings as the engine's own settings, and the few of Frappe's own that it goes by.

Asked for at every enqueue and read from the database at most once a second, so that a change takes effect everywhere without
a restart. Not kept in Redis: there, others would see what a transaction has written and may yet roll back. In one statement:
Frappe's own way would load all of System Settings at every start of a runner.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import frappe
from frappe.utils import cint

from job_engine.settings import Settings

DOCTYPE = "Job Engine Settings"
FRESH_SECONDS = 1.0
FRAPPES_OWN_ZONE = "Asia/Kolkata"  # what Frappe takes where a site has set none

COLUMNS = "field, value, (SELECT MAX(days) FROM `tabLogs To Clear` WHERE ref_doctype = 'Background Job')"
STORED = f""" FROM `tabSingles`
    WHERE doctype = '{DOCTYPE}' OR (doctype = 'System Settings' AND field IN ('enable_scheduler', 'time_zone'))"""

# Those of the engine that an administrator sets.
FIELDS = ("lease_seconds", "heartbeat_seconds", "grace_seconds", "payload_bytes")


@dataclass(frozen=True, slots=True)
class SiteSettings:
    engine: Settings
    tenant_doctype: str
    default_organization: str | None
    max_waiting_jobs: int
    alert_by_email: bool
    paused: bool  # everything
    scheduler_is_on: bool
    time_zone: str


_known: dict[str, tuple[float, SiteSettings]] = {}  # by site


def read() -> SiteSettings:
    """What is in force now."""
    at, known = _known.get(frappe.local.site, (0.0, None))
    if known is None or time.monotonic() - at > FRESH_SECONDS:
        return remember(frappe.db.sql(f"SELECT {COLUMNS}{STORED}"))
    return known


def remember(rows: Sequence[Sequence[Any]]) -> SiteSettings:
    """Go by these rows of COLUMNS, which were just read."""
    known = _of_rows(rows)
    _known[frappe.local.site] = time.monotonic(), known
    return known


def engine_settings() -> Settings:
    return read().engine


def forget(*_: Any) -> None:
    """Read again what is stored: now, and once more when the transaction that changed it has ended, either way."""
    forget_now()
    frappe.db.after_commit.add(forget_now)
    frappe.db.after_rollback.add(forget_now)


def forget_now() -> None:
    """Ask the database at the next question."""
    _known.pop(frappe.local.site, None)


def _of_rows(rows: Sequence[Sequence[Any]]) -> SiteSettings:
    """Where there is nothing yet, during the installation, the defaults."""
    stored = {field: value for field, value, _ in rows}
    numbers = {field: cint(stored.get(field)) for field in FIELDS} | {"retention_days": rows[0][2] if rows else 0}
    return SiteSettings(
        engine=Settings.of(**{field: value for field, value in numbers.items() if value and value > 0}),
        tenant_doctype=stored.get("tenant_doctype") or "Organization",
        default_organization=stored.get("default_organization") or None,
        max_waiting_jobs=cint(stored.get("max_waiting_jobs")) or 10_000,
        alert_by_email=bool(cint(stored.get("alert_by_email"))),
        paused=bool(cint(stored.get("paused"))),
        scheduler_is_on=bool(cint(stored.get("enable_scheduler", 1))),
        time_zone=stored.get("time_zone") or FRAPPES_OWN_ZONE,
    )


def retention_days() -> int:
    """Of Log Settings, which clears old jobs and is the one place where this number is kept."""
    found = frappe.db.sql("SELECT days FROM `tabLogs To Clear` WHERE ref_doctype = 'Background Job'")
    return cint(found[0][0]) if found else 0
