"""The engine writes jobs with SQL of its own; this controller keeps everybody else from doing so."""

from __future__ import annotations

import json
from typing import Any

import frappe
from frappe import _
from frappe.model.document import Document

from job_engine.core.states import ENDED


class BackgroundJob(Document):
    @property
    def output_reference(self) -> str | None:
        """What the result names as its output."""
        return output_reference_of(self.get("result"))

    def validate(self) -> None:
        frappe.throw(
            _(
                "Jobs are made by job_engine.enqueue or the API and written by the engine alone, so that nothing else can"
                " bring one into a state it cannot be in. To change what happens to a job, cancel or retry it."
            )
        )

    def on_trash(self) -> None:
        if self.status not in [str(status) for status in ENDED]:
            frappe.throw(
                _("Job {0} is {1} and may still run. Cancel it first; then it can be deleted.").format(
                    self.name, self.status
                )
            )
        frappe.db.delete("Job Execution Log", {"job": self.name})
        for column in ("job", "parent"):
            frappe.db.sql(f"DELETE FROM `__job_engine_dependency` WHERE {column} = %s", self.name)

    @staticmethod
    def clear_old_logs(days: int = 30) -> None:
        """Log Settings asks for this once a day."""
        from job_engine.site import engine

        engine().prune(days)


def output_reference_of(result: str | None) -> str | None:
    try:
        value: Any = json.loads(result) if result else None
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    found = next((value[key] for key in ("output_reference", "file_url", "file") if value.get(key)), None)
    return found if isinstance(found, str) else None
