"""The site's own numbers, checked so that no saved value can stop the engine."""

from __future__ import annotations

import frappe
from frappe import _
from frappe.model.document import Document
from frappe.utils import cint

from job_engine.core.states import ENDED
from job_engine.site import job_types, organization, settings, tenancy

RANGES = {  # least and most
    "lease_seconds": (10, 3600),
    "heartbeat_seconds": (1, 1200),
    "grace_seconds": (1, 600),
    "payload_bytes": (1024, 16 * 1024 * 1024),
    "max_waiting_jobs": (1, 10_000_000),
    "retention_days": (1, 3650),
}


def why_not(field: str) -> str:
    """Why it is not less or more."""
    reasons = {
        "lease_seconds": _(
            "A shorter lease takes jobs from workers that are only slow; a longer one leaves a dead worker's jobs waiting."
        ),
        "heartbeat_seconds": _("A worker says at each heartbeat that it is still there."),
        "grace_seconds": _("A handler needs a moment to end by itself before it is killed."),
        "payload_bytes": _("Every job carries its parameters; put more into a document or file and name it."),
        "max_waiting_jobs": _("To let an organization run nothing, suspend it."),
        "retention_days": _("Jobs are kept at least a day after they ended."),
    }
    return reasons[field]


class JobEngineSettings(Document):
    def load_from_db(self) -> JobEngineSettings:
        super().load_from_db()
        self.retention_days = settings.retention_days() or self.retention_days  # kept in Log Settings
        return self

    def validate(self) -> None:
        self.tenant_doctype = self.tenant_doctype or organization.NAME
        for field, (least, most) in RANGES.items():
            value = cint(self.get(field))
            if not least <= value <= most:
                frappe.throw(
                    _("{0} is {1}; it is a number from {2} to {3}. {4}").format(
                        _(self.meta.get_label(field)), value, least, most, why_not(field)
                    )
                )
        if self.heartbeat_seconds > self.lease_seconds / 3:
            frappe.throw(
                _(
                    "With a lease of {0} s the heartbeat is at most {1} s: a worker may miss two without losing its jobs."
                ).format(self.lease_seconds, self.lease_seconds // 3)
            )
        if self.tenant_doctype != tenancy.tenant_doctype():
            self._check_tenant_doctype()

    def _check_tenant_doctype(self) -> None:
        meta = frappe.get_meta(self.tenant_doctype)
        if meta.issingle or meta.istable or meta.get("is_virtual"):
            frappe.throw(
                _("{0} has no documents of its own that could be organizations. Choose another DocType.").format(
                    self.tenant_doctype
                )
            )
        ended = ", ".join(frappe.db.escape(str(status)) for status in sorted(ENDED))
        strangers = frappe.db.sql(
            f"""SELECT DISTINCT job.organization FROM `tabBackground Job` job
                LEFT JOIN `tab{self.tenant_doctype}` tenant ON tenant.name = job.organization
                WHERE job.status NOT IN ({ended}) AND tenant.name IS NULL LIMIT 5"""
        )
        if strangers:
            frappe.throw(
                _(
                    "Jobs of {0} have not ended, and there is no {1} of that name: they would end in Dead Letter."
                    " Let them end or cancel them first."
                ).format(", ".join(row[0] or "''" for row in strangers), self.tenant_doctype)
            )

    def on_update(self) -> None:
        self._keep_retention()
        settings.forget()
        job_types.forget_overrides()
        frappe.db.after_commit.add(job_types.forget_overrides)
        organization.link_jobs_to(self.tenant_doctype)
        tenancy.forget()

    def _keep_retention(self) -> None:
        if self.retention_days == settings.retention_days():
            return
        log_settings = frappe.get_doc("Log Settings")
        log_settings.register_doctype("Background Job", self.retention_days)
        log_settings.save(ignore_permissions=True)
