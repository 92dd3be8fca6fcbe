"""A role that may see the jobs of a type."""

from __future__ import annotations

from frappe.model.document import Document


class JobTypeRole(Document):
    pass
