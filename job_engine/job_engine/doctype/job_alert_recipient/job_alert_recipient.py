"""Somebody who is told of dead letters."""

from __future__ import annotations

from frappe.model.document import Document


class JobAlertRecipient(Document):
    pass
