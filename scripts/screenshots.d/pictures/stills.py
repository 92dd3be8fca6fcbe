"""The pictures that stand still: each light and dark."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from pictures import browsing

THEMES = ("light", "dark")
MONITOR = (
    "document.querySelector('.job-monitor[data-state=ready] [data-chart=throughput] .bar')"
    " && document.querySelector('.job-monitor [data-cause]') && document.querySelector('.jm-live .green')"
)
WORKSPACE = (
    "document.querySelectorAll('.number-widget-box .number').length === 4"
    " && document.querySelectorAll('.dashboard-widget-box .frappe-chart').length === 2"
)
LIST = "document.querySelectorAll('.list-row-container .list-row').length > 10"
FORM = "document.querySelector('.je-job .je-explanation')"


def take(page: Any, wanted: set[str]) -> None:
    for theme in THEMES:
        for name, taker in TAKERS.items():
            if name in wanted:
                browsing.save(taker(page, theme), f"{name}-{theme}")


def _monitor(page: Any, theme: str, full_page: bool = False) -> Any:
    browsing.open_desk(page, "job-monitor", theme, MONITOR)
    browsing.until_drawn(page)
    return browsing.shot(page, full_page=full_page)


def _workspace(page: Any, theme: str) -> Any:
    browsing.open_desk(page, "job-engine", theme, WORKSPACE)
    browsing.until_drawn(page)
    return browsing.shot(page)


def _list(page: Any, theme: str) -> Any:
    browsing.open_desk(page, "background-job/view/list", theme, LIST)
    return browsing.shot(page)


def _form(page: Any, theme: str) -> Any:
    """A dead letter with a family: its parent is done, another job waits for it."""
    browsing.open_desk(page, "background-job", theme, LIST)
    name = page.evaluate(
        """() => frappe.db.get_value("Background Job", {job_type: "monthly_statement", status: "Dead Letter",
            depends_on: ["is", "set"]}, "name").then((r) => r.message.name)"""
    )
    browsing.open_desk(page, f"background-job/{name}", theme, FORM)
    return browsing.shot(page)


def _bulk(page: Any, theme: str) -> Any:
    """What a retry of all dead letters would do."""
    browsing.open_desk(page, "background-job?status=Dead+Letter", theme, LIST)
    page.locator(".list-header-subject .list-check-all:visible").check()
    page.locator(".actions-btn-group:visible > button").click()
    page.locator(".actions-btn-group:visible .dropdown-menu a:has-text('Retry'):visible").first.click()
    page.locator(".modal.show .je-preview-total").wait_for()
    page.locator(".modal.show [data-fieldname=which] select").select_option("matching")
    page.wait_for_function(
        "() => document.querySelector('.modal.show .je-preview-total')?.innerText.match(/[3-9][0-9] /)"
    )
    page.evaluate("() => document.activeElement.blur()")
    return browsing.shot(page)


def _job_type(page: Any, theme: str) -> Any:
    browsing.open_desk(page, "job-type/webhook_delivery", theme, "document.querySelector('.je-type .je-policy')")
    return browsing.shot(page)


def _phone(page: Any, theme: str) -> Any:
    page.set_viewport_size(browsing.PHONE)
    browsing.open_desk(page, "job-monitor", theme, MONITOR)
    browsing.until_drawn(page)
    taken = browsing.shot(page)
    page.set_viewport_size(browsing.SIZE)
    return taken


TAKERS = {
    "monitor": _monitor,
    "monitor-page": partial(_monitor, full_page=True),
    "workspace": _workspace,
    "list": _list,
    "bulk": _bulk,
    "form": _form,
    "job-type": _job_type,
    "phone": _phone,
}


def password() -> str:
    return os.environ["JOB_ENGINE_PICTURES_PASSWORD"]
