"""One line of a job's history, written by the engine together with the change it tells of."""

from __future__ import annotations

import frappe
from frappe import _
from frappe.model.document import Document
from frappe.utils import escape_html

from job_engine.api import answering


class JobExecutionLog(Document):
    def onload(self) -> None:
        """Desk's form shows a Small Text as HTML, because it trusts that whoever saved it was checked. No one was."""
        for field in ("error", "reason"):
            self.set(field, escape_html(answering.clean_text(self.get(field)) or ""))

    def validate(self) -> None:
        frappe.throw(_("A job's history is written by the engine alone."))
