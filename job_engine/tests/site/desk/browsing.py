"""A page of Desk, and what a test does with it. It is loaded once: tests go from view to view, as people do."""

from __future__ import annotations

import os
from typing import Any

LIMIT = 40_000  # milliseconds; a loaded machine is slow, and nothing here waits longer than it has to

# Frappe drops a refresh that comes soon after another, so this one goes around that.
SHOW_FILTERED = """async (filters) => {
    await cur_list.filter_area.clear(false);
    await cur_list.filter_area.set(filters);
    cur_list.last_args = null;
    cur_list.start = 0;
    await frappe.views.ListView.prototype.refresh.call(cur_list);
}"""
LIST_IS_THERE = "window.cur_list?.doctype === 'Background Job' && cur_list.je_live && frappe.get_route()[0] === 'List'"


# What smuggled code does is to set `pwned`. Whoever finds it set wants to know where in the page it stood.
NOTICE = """Object.defineProperty(window, "pwned", {
    get: () => window.je_pwned,
    set: (value) => (window.je_pwned = `${value}, of ${window.event?.target?.parentElement?.outerHTML?.slice(0, 1000)}`),
})"""


class Desk:
    def __init__(self, context: Any, user: str, kind: str):
        self.user = user
        self.kind = kind
        self.context = context
        self.errors: list[str] = []
        self.page = context.new_page()
        self.page.add_init_script(NOTICE)
        self.page.set_default_timeout(LIMIT)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.load()

    def _refuse(self, dialog: Any) -> None:
        self.errors.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def load(self, path: str = "background-job") -> None:
        self.page.goto(f"{os.environ['JOB_ENGINE_SITE_URL']}/app/{path}")
        self.until("window.frappe?.realtime?.socket?.connected && window.job_engine?.track")

    def begin(self) -> Desk:
        self.errors.clear()
        return self

    def end(self) -> None:
        """Leave nothing open, and nothing that somebody has smuggled in."""
        self.page.evaluate(
            """() => {
                window.cur_dialog?.hide();
                document.querySelectorAll('.je-toast-close').forEach((button) => button.click());
                document.querySelectorAll('#alert-container .desk-alert').forEach((alert) => alert.remove());
            }"""
        )
        ran = self.page.evaluate("() => { const ran = window.pwned; delete window.je_pwned; return ran; }")
        assert ran is None, f"what somebody wrote was run as code: {ran}"
        assert not self.errors, f"errors of the page: {self.errors}"

    # Where

    def list(self, **filters: Any) -> Any:
        """The list of jobs with these filters, read anew."""
        self.page.evaluate("() => frappe.set_route('List', 'Background Job', 'List')")
        self.until(LIST_IS_THERE)
        conditions = {field: v if isinstance(v, list) else ["=", v] for field, v in filters.items()}
        self.page.evaluate(SHOW_FILTERED, [["Background Job", field, *v] for field, v in conditions.items()])
        return self.page

    def form(self, name: str) -> Any:
        self.page.evaluate("(name) => frappe.set_route('Form', 'Background Job', name)", name)
        self.page.wait_for_function(
            "(name) => cur_frm?.docname === name && cur_frm.je_form?.job?.name === name && cur_frm.je_form.is_shown",
            arg=name,
        )
        return self.page.locator(".je-job:visible")

    # What

    def until(self, condition: str) -> None:
        """Wait for what JavaScript says."""
        self.page.wait_for_function(f"() => {condition}")

    def row(self, name: str) -> Any:
        return self.page.locator(f'.list-row-container:has(a[data-name="{name}"]):visible')

    def rows(self) -> list[str]:
        """The names of the jobs that the list shows."""
        return self.page.evaluate("() => cur_list.$result.find('a[data-name]').get().map((a) => a.dataset.name)")

    def until_row_says(self, name: str, text: str) -> None:
        self.row(name).filter(has_text=text).wait_for()

    def button(self, label: str) -> Any:
        """Of the form."""
        return self.page.locator(f".page-actions:visible button:has-text('{label}'):visible").first

    def choose(self, label: str) -> None:
        """From the menu of what is checked in the list. What it would do is previewed."""
        self.page.locator(".actions-btn-group:visible > button").click()
        self.page.locator(f".actions-btn-group:visible .dropdown-menu a:has-text('{label}'):visible").first.click()
        self.page.locator(".modal.show .je-preview-total").wait_for()

    def press_in_dialog(self) -> None:
        self.page.locator(".modal.show .btn-modal-primary:visible").last.click()
