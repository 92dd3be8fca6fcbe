"""The form of a job type in Desk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import frappe
import pytest

from job_engine.api.desk import job_types as desk_job_types
from job_engine.site import job_types
from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk
from job_engine.tests.site.running import Bench

MANAGERS = ("System Manager", "Job Manager")


@pytest.fixture
def overridden() -> Iterator[str]:
    """A type whose attempts an administrator has changed."""
    job_types.sync()
    document = frappe.get_doc("Job Type", "test.effect")
    document.update({"max_attempts": 9}).save()
    frappe.db.commit()
    yield "test.effect"
    frappe.db.rollback()
    frappe.set_user("Administrator")
    frappe.get_doc("Job Type", "test.effect").update({"max_attempts": 0}).save()
    frappe.db.commit()


def open_type(desk: Desk, name: str) -> Any:
    desk.page.evaluate("(name) => frappe.set_route('Form', 'Job Type', name)", name)
    shown = desk.page.locator(".je-type:visible")
    shown.locator(".je-policy").wait_for()
    return shown


def ask_for_test_run(desk: Desk, organization: str, params: dict[str, Any]) -> None:
    """Open the dialog, fill it and send it."""
    desk.button("Test Run").click()
    desk.page.locator(".modal.show .ace_editor").wait_for()
    desk.until("cur_dialog")
    desk.page.evaluate("(organization) => cur_dialog.set_value('organization', organization)", organization)
    desk.until("cur_dialog.get_value('organization')")
    fill_params_and_run(desk, params)


def fill_params_and_run(desk: Desk, params: dict[str, Any]) -> None:
    text = json.dumps(params)
    desk.page.evaluate("(text) => cur_dialog.set_value('params', text)", text)
    desk.page.wait_for_function("(text) => cur_dialog.get_value('params') === text", arg=text)
    desk.press_in_dialog()


def test_the_policy_in_force_and_who_says_so(desk: Desk, overridden: str):
    shown = open_type(desk, overridden)

    cells = {
        row[0]: row[1:]
        for row in shown.locator(".je-policy tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.children].map((cell) => cell.textContent))"
        )
    }
    assert cells["Max Attempts"] == ["5", "9", "9"]
    assert cells["Priority"] == ["Normal", "", "Normal"]
    assert cells["Timeout"] == ["5 min", "", "5 min"]
    assert cells["Concurrency"] == ["none", "", "none"]
    assert desk.button("Test Run").is_visible() is (desk.kind in MANAGERS)


def test_a_manager_makes_a_test_run_and_watches_it(managers_desk: Desk, ours: str, overridden: str):
    open_type(managers_desk, overridden)

    ask_for_test_run(managers_desk, ours, {"value": "by hand"})

    managers_desk.page.locator(".je-toast").filter(has_text="Completed").wait_for()
    frappe.db.rollback()
    made = frappe.get_all("Background Job", filters={"organization": ours}, fields=["job_type", "user", "status"])
    assert made == [{"job_type": "test.effect", "user": managers_desk.user, "status": "Completed"}]


def test_a_test_run_that_is_refused_says_why_and_can_be_mended(managers_desk: Desk, ours: str, overridden: str):
    open_type(managers_desk, overridden)
    page = managers_desk.page

    ask_for_test_run(managers_desk, ours, {"unheard_of": 1})

    page.locator(".msgprint:visible >> text=does not accept these parameters").wait_for()
    page.locator(".modal.show:has(.msgprint) .btn-modal-close").click()
    page.locator(".msgprint").wait_for(state="hidden")
    assert page.locator(".modal.show .ace_editor").is_visible()
    assert frappe.db.count("Background Job", {"organization": ours}) == 0
    fill_params_and_run(managers_desk, {"value": "mended"})
    page.locator(".je-toast").filter(has_text="Completed").wait_for()


def test_the_last_24_hours_are_of_ones_own_organizations(runner: Bench, other: str, as_user: Callable[[str], None]):
    for organization in (runner.organization, runner.organization, other):
        runner.enqueue("test.noop", organization=organization)
    runner.run()
    manager = people.user("Job Manager", organizations=(runner.organization,))
    as_user(manager)

    hours = desk_job_types.overview("test.noop")["hours"]

    assert len(hours) == 24
    assert hours[-1]["completed"] + hours[-2]["completed"] == 2
