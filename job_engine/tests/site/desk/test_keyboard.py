"""Dialogs keep the keyboard's focus, wherever they are opened: Tab goes round in them, and never into what is behind."""

from __future__ import annotations

from collections.abc import Callable

import frappe
import pytest

from job_engine.site import job_types
from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk

STEPS = 25  # more than any of these dialogs has controls
WHERE = """() => {
    const element = document.activeElement;
    if (!element.closest('.modal.show')) return `outside: ${element.outerHTML.slice(0, 200)}`;
    const all = [...document.querySelectorAll('.modal.show *')];
    return String(all.indexOf(element));
}"""


def over_the_list(desk: Desk, organization: str) -> None:
    """Its rows have tabindex=1: by themselves they would come next."""
    names = [people.job(organization, "test.fail", "Dead Letter", last_error="Boom") for _ in range(3)]
    frappe.db.commit()
    page = desk.list(organization=organization)
    page.locator(f'.list-row-checkbox[data-name="{names[0]}"]').check()
    desk.choose("Retry")


def on_the_form(desk: Desk, organization: str, status: str, button: str, **fields: str) -> None:
    """The dialog of a button of a job's form."""
    name = people.job(organization, "test.effect", status, **fields)
    frappe.db.commit()
    desk.form(name)
    desk.button(button).click()


def to_retry(desk: Desk, organization: str) -> None:
    on_the_form(desk, organization, "Dead Letter", "Retry", last_error="Boom")


def to_retry_with_other_parameters(desk: Desk, organization: str) -> None:
    on_the_form(desk, organization, "Dead Letter", "Retry with Changed Parameters", last_error="Boom")
    desk.page.locator(".modal.show .ace_editor").wait_for()


def to_cancel(desk: Desk, organization: str) -> None:
    on_the_form(desk, organization, "Pending", "Cancel Job", queue="nobodys")


def to_pause(desk: Desk, organization: str) -> None:
    desk.page.evaluate("() => frappe.set_route('job-monitor')")
    desk.page.locator(".job-monitor[data-state=ready]:visible").wait_for()
    desk.button("Pause").click()


def to_make_a_test_run(desk: Desk, organization: str) -> None:
    job_types.sync()
    frappe.db.commit()
    desk.page.evaluate("() => frappe.set_route('Form', 'Job Type', 'test.effect')")
    desk.page.locator(".je-type:visible .je-policy").wait_for()
    desk.button("Test Run").click()
    desk.page.locator(".modal.show .ace_editor").wait_for()


@pytest.mark.parametrize(
    "open_dialog",
    [over_the_list, to_retry, to_retry_with_other_parameters, to_cancel, to_pause, to_make_a_test_run],
    ids=lambda opener: opener.__name__,
)
def test_tab_stays_in_the_dialog_and_comes_round(
    managers_desk: Desk, ours: str, open_dialog: Callable[[Desk, str], None]
):
    open_dialog(managers_desk, ours)
    page = managers_desk.page
    managers_desk.until("cur_dialog?.display")

    for key in ("Tab", "Shift+Tab"):
        visited = []
        for _ in range(STEPS):
            page.keyboard.press(key)
            visited.append(page.evaluate(WHERE))
        outside = [place for place in visited if place.startswith("outside")]
        assert not outside, (key, outside)
        assert 2 <= len(set(visited)) < STEPS, f"{key} goes round and stops nowhere: {visited}"


def test_a_focus_that_got_behind_the_dialog_comes_back(managers_desk: Desk, ours: str):
    over_the_list(managers_desk, ours)
    managers_desk.until("cur_dialog?.display")
    page = managers_desk.page

    page.evaluate("() => cur_list.$result.find('.list-row-container')[0].focus()")
    assert page.evaluate(WHERE).startswith("outside")
    page.keyboard.press("Tab")

    assert not page.evaluate(WHERE).startswith("outside")


def test_a_closed_dialog_leaves_the_keyboard_alone(managers_desk: Desk, ours: str):
    over_the_list(managers_desk, ours)
    managers_desk.until("cur_dialog?.display")
    page = managers_desk.page
    page.evaluate("() => cur_dialog.hide()")
    page.locator(".modal.show").wait_for(state="hidden")

    page.keyboard.press("Tab")

    assert page.evaluate(WHERE).startswith("outside")
