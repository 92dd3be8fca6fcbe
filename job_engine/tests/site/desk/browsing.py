"""A page of Desk, and what a test does with it."""

from __future__ import annotations

import os
from typing import Any

LIMIT = 15_000


class Desk:
    def __init__(self, context: Any, user: str):
        self.user = user
        self.context = context
        self.page = context.new_page()
        self.page.set_default_timeout(LIMIT)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(f"a dialog: {dialog.message}") or dialog.dismiss())

    def close(self) -> None:
        self.page.close()
        assert self.errors == []

    def open(self, path: str) -> Any:
        self.page.goto(f"{os.environ['JOB_ENGINE_SITE_URL']}/app/{path}")
        return self.page

    def list(self, query: str = "") -> Any:
        """The list of jobs, as a user finds it who has never changed it."""
        page = self.open(f"background-job/view/list?{query}")
        page.wait_for_function(
            "() => window.cur_list && cur_list.doctype === 'Background Job' && cur_list.je_live"
        )
        self.until_connected()
        return page

    def form(self, name: str) -> Any:
        page = self.open(f"background-job/{name}")
        page.wait_for_selector(".je-job .je-explanation")
        self.until_connected()
        return page

    def until_connected(self) -> None:
        self.page.wait_for_function("() => frappe.realtime.socket && frappe.realtime.socket.connected")

    def row(self, name: str) -> Any:
        return self.page.locator(".list-row-container", has=self.page.locator(f'a[data-name="{name}"]'))

    def until(self, condition: str) -> None:
        """Wait for what JavaScript says."""
        self.page.wait_for_function(f"() => {condition}")

    def status_in_row(self, name: str, status: str) -> None:
        self.row(name).locator(f".indicator-pill:visible:has-text('{status}')").first.wait_for()
