"""One line of a job's history, written by the engine together with the change it tells of."""

from __future__ import annotations

import frappe
from frappe import _
from frappe.model.document import Document


class JobExecutionLog(Document):
    def validate(self) -> None:
        frappe.throw(_("A job's history is written by the engine alone."))
