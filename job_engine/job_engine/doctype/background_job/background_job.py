"""The engine writes jobs with SQL of its own; this controller keeps everybody else from doing so."""

from __future__ import annotations

import json
from typing import Any

import frappe
from frappe import _
from frappe.model.document import Document

from job_engine.api import answering
from job_engine.core.states import Status
from job_engine.site import deleting


class BackgroundJob(Document):
    @property
    def output_reference(self) -> str | None:
        """What the result names as its output."""
        return output_reference_of(self.get("result"))

    def onload(self) -> None:
        """What Desk's form gets: no secrets, not even for those who may read every field."""
        for field in ("params", "result", "checkpoint"):
            if self.get(field):
                self.set(field, json.dumps(answering.clean_json(self.get(field)), indent=2, ensure_ascii=False))
        for field in ("progress_message", "last_error", "traceback", "reason"):
            self.set(field, answering.clean_text(self.get(field)))

    def insert(self, *args: Any, **kwargs: Any) -> BackgroundJob:
        _refuse()
        return self

    def save(self, *args: Any, **kwargs: Any) -> BackgroundJob:
        _refuse()
        return self

    def on_trash(self) -> None:
        status = Status(self.status)
        deleting.check(self.name, status)
        deleting.forget_history(self.name, self.job_type, self.organization, status)

    @staticmethod
    def clear_old_logs(days: int = 30) -> None:
        """Log Settings asks for this once a day. Each batch is committed: nobody waits for the rest of them."""
        from job_engine.site import engine

        engine().prune(days, progress=lambda n: frappe.db.commit())


def _refuse() -> None:
    """Before Frappe looks at anything else: what it would complain of first says nothing to the person who tried."""
    frappe.throw(
        _(
            "Jobs are made by job_engine.enqueue or the API and written by the engine alone, so that nothing else can bring"
            " one into a state it cannot be in. To change what happens to a job, cancel or retry it."
        )
    )


def output_reference_of(result: str | None) -> str | None:
    try:
        value: Any = json.loads(result) if result else None
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    found = next((value[key] for key in ("output_reference", "file_url", "file") if value.get(key)), None)
    return found if isinstance(found, str) else None
