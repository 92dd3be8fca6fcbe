"""The workspace, as each kind of user finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import frappe
import pytest

from job_engine.site import engine
from job_engine.store import stats
from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk
from job_engine.tests.site.desk.conftest import forget_everything

CARDS = ("Dead Letters", "Running Jobs", "Waiting Jobs", "Jobs Completed in 24 Hours")
CHARTS = ("Job Throughput", "Failed Attempts by Job Type")
INSTALLED = {
    "Workspace": ("Job Engine",),
    "Page": ("job-monitor",),
    "Number Card": CARDS,
    "Dashboard Chart": CHARTS,
    "Dashboard Chart Source": CHARTS,
}


def test_everything_of_it_is_installed_with_the_app_and_goes_with_its_module():
    """Frappe takes away whatever names the app's module when the app is uninstalled."""
    for doctype, names in INSTALLED.items():
        found = frappe.get_all(doctype, {"module": "Job Engine"}, pluck="name")
        assert sorted(found) == sorted(names), doctype


@pytest.fixture(autouse=True)
def nothing_of_others(tenants: tuple[str, str]) -> None:
    forget_everything()


def box(page: Any, card: str) -> Any:
    return page.locator(f".number-widget-box:has([title='{card}'])")


def number(page: Any, card: str) -> str:
    return box(page, card).locator(".number").text_content().strip()


def open_workspace(desk: Desk) -> Any:
    desk.load("job-engine")
    desk.until(
        f"document.querySelectorAll('.number-widget-box .number').length === {len(CARDS)}"
        f" && document.querySelectorAll('.dashboard-widget-box .frappe-chart').length === {len(CHARTS)}"
    )
    return desk.page


@pytest.mark.parametrize("kind", ["Job Manager", "Job User"])
def test_its_numbers_are_of_the_own_organization(desk_of: Callable[[str], Desk], kind: str, ours: str, other: str):
    for organization, n in ((ours, 2), (other, 5)):
        for _ in range(n):
            people.job(organization, status="Dead Letter", ended_at=frappe.utils.now_datetime())
            people.job(organization, status="Pending", run_after="2099-01-01")
        _count_completed(organization, n)
    frappe.db.commit()

    page = open_workspace(desk_of(kind))

    assert [number(page, card) for card in CARDS] == ["2", "0", "2", "2"]
    assert other not in page.content()
    for organization in (ours, other):
        frappe.db.sql("DELETE FROM `__job_engine_stat` WHERE organization = %s", organization)
    frappe.db.commit()


def test_an_operator_comes_from_it_to_the_monitor_and_the_dead_letters(desk_of: Callable[[str], Desk], ours: str):
    people.job(ours, status="Dead Letter", ended_at=frappe.utils.now_datetime())
    frappe.db.commit()
    desk = desk_of("System Manager")
    page = open_workspace(desk)

    box(page, "Dead Letters").locator(".widget-body").click()
    desk.until("window.cur_list && cur_list.doctype === 'Background Job'")
    desk.until("cur_list.filter_area?.get().some((f) => f[1] === 'status' && f[3] === 'Dead Letter')")
    page.go_back()
    page.locator(".shortcut-widget-box", has_text="Job Monitor").first.click()
    desk.until("document.querySelector('.job-monitor[data-state=ready]')")


def _count_completed(organization: str, n: int) -> None:
    store = engine().store
    with store.session() as session:
        stats.record(session, [("test.effect", organization, "Completed", 1.0)] * n, "a test", store.now())
