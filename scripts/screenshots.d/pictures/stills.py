"""The pictures that stand still: each light and dark."""

from __future__ import annotations

import os
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


def _monitor(page: Any, theme: str) -> Any:
    browsing.open_desk(page, "job-monitor", theme, MONITOR)
    browsing.until_drawn(page)
    return browsing.shot(page)


def _monitor_page(page: Any, theme: str) -> Any:
    """All of it."""
    browsing.open_desk(page, "job-monitor", theme, MONITOR)
    browsing.until_drawn(page)
    return browsing.shot(page, full_page=True)


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


def _phone(page: Any, theme: str) -> Any:
    page.set_viewport_size(browsing.PHONE)
    browsing.open_desk(page, "job-monitor", theme, MONITOR)
    browsing.until_drawn(page)
    taken = browsing.shot(page)
    page.set_viewport_size(browsing.SIZE)
    return taken


TAKERS = {
    "monitor": _monitor,
    "monitor-page": _monitor_page,
    "workspace": _workspace,
    "list": _list,
    "form": _form,
    "phone": _phone,
}


def password() -> str:
    return os.environ["JOB_ENGINE_PICTURES_PASSWORD"]
