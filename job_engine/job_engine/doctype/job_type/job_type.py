"""A registered kind of job as an administrator sees it: what is set here overrides the code, without a restart."""

from __future__ import annotations

import frappe
from frappe import _
from frappe.model.document import Document

from job_engine.core.errors import JobEngineError
from job_engine.core.job_type import JobType as Policy
from job_engine.site import job_types, tenancy
from job_engine.site.language import speak_to_callers


class JobType(Document):
    def before_insert(self) -> None:
        if not self.handler:
            frappe.throw(
                _(
                    "A job type is made by code: decorate a function with @job and name its module in the hook job_types"
                    " of your app. It appears here by itself."
                )
            )

    def validate(self) -> None:
        if self.timeout_category:
            self.timeout = 0  # one of the two counts, and this one is what the form shows
        if self.retry_policy != "Custom":
            self.custom_retry = None
        self._check_texts()
        speak_to_callers()
        try:
            Policy(self.type_name, handler=_no_handler, **job_types.policy_of(self))
        except JobEngineError as error:
            frappe.throw(str(error), title=_("This policy cannot work"))

    def _check_texts(self) -> None:
        """What the engine gets only after it was turned into numbers."""
        window = (self.dedup_window or "").strip()
        if window and not window.isdecimal():
            frappe.throw(
                _("Dedup Window is {0}; it is a whole number of seconds, 0 (off) or empty.").format(repr(window))
            )
        self.dedup_window = window
        if self.retry_policy == "Custom":
            try:
                frappe.parse_json(self.custom_retry or "null")
            except ValueError as error:
                frappe.throw(_("Custom Retry is no JSON: {0}. Write [10, 60, 300], for example.").format(error))

    def on_update(self) -> None:
        forget()

    def after_delete(self) -> None:
        forget()

    def before_rename(self, old: str, new: str, merge: bool = False) -> None:
        frappe.throw(_("The code gives a job type its name. Rename it there: a new type appears here."))

    def on_trash(self) -> None:
        n = frappe.db.count("Background Job", {"job_type": self.name})
        if n:
            frappe.throw(
                _(
                    "{0} jobs of type {1} exist, and their history would lose its meaning. To stop new ones, switch off"
                    " Enabled instead; the jobs go when their retention ends."
                ).format(n, self.name)
            )


def forget() -> None:
    """Let the overrides be read again, now and once they are committed."""
    _forget_now()
    frappe.db.after_commit.add(_forget_now)
    frappe.db.after_rollback.add(_forget_now)


def _forget_now() -> None:
    job_types.forget_overrides()
    tenancy.forget()


def _no_handler() -> None:
    """Stands for the handler while a policy is checked."""
