"""Retry and cancel many jobs from the list."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import frappe
import pytest

from job_engine.api.desk import bulk
from job_engine.api.errors import Forbidden
from job_engine.core.registry import default_registry
from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk

OUTAGE = "ConnectionError: the bank does not answer, request 12345"


def dead_letters(organization: str, n: int, **columns: Any) -> list[str]:
    """So many at once, as the engine leaves them."""
    return [
        people.job(organization, "test.fail", "Dead Letter", last_error=OUTAGE, attempts=2, max_attempts=2, **columns)
        for _ in range(n)
    ]


def statuses(organization: str) -> dict[str, int]:
    frappe.db.rollback()
    return dict(
        frappe.db.sql(
            "SELECT status, COUNT(*) FROM `tabBackground Job` WHERE organization = %s GROUP BY status", organization
        )
    )


@pytest.mark.parametrize("kind", ["System Manager", "Job Manager"])
def test_500_dead_letters_are_retried_beyond_the_page_and_spread_over_time(
    desk_of: Callable[[str], Desk], ours: str, kind: str
):
    dead_letters(ours, 500, queue="nobodys")
    frappe.db.commit()
    desk = desk_of(kind)
    page = desk.list(organization=ours, status="Dead Letter")
    page.locator(".list-header-subject .list-check-all:visible").check()
    desk.choose("Retry")
    assert "20 jobs" in page.locator(".modal.show .je-preview-total").inner_text()

    page.locator(".modal.show [data-fieldname=which] select").select_option("matching")
    page.locator(".modal.show .je-preview-total:has-text('500 jobs')").wait_for()
    shown = page.locator(".modal.show .je-preview").inner_text()
    assert ours in shown
    assert "the bank does not answer" in shown, "one row for the same error of many jobs"
    page.locator(".modal.show [data-fieldname=spread] select").select_option("600")
    desk.press_in_dialog()
    page.locator(".modal.show").wait_for(state="hidden")

    found = statuses(ours)
    assert sum(found.values()) == 500
    assert "Dead Letter" not in found
    first, last = frappe.db.sql(
        "SELECT MIN(run_after), MAX(run_after) FROM `tabBackground Job` WHERE organization = %s", ours
    )[0]
    assert last - first == timedelta(seconds=600)


def test_only_what_is_checked_is_canceled_and_the_reason_is_kept(managers_desk: Desk, ours: str):
    later = frappe.utils.now_datetime() + timedelta(days=1)  # the bench's own tick must not find them due
    waiting = [people.job(ours, status="Pending", run_after=later) for _ in range(3)]
    done = people.job(ours)
    frappe.db.commit()
    page = managers_desk.list(organization=ours)
    for name in (waiting[0], waiting[1], done):
        page.locator(f'.list-row-checkbox[data-name="{name}"]').check()
    managers_desk.choose("Cancel")
    assert "1 of the checked jobs are left out" in page.locator(".modal.show .je-preview").inner_text()

    page.locator(".modal.show [data-fieldname=reason] input").fill("sent twice")
    managers_desk.press_in_dialog()
    page.locator(".modal.show").wait_for(state="hidden")

    assert statuses(ours) == {"Canceled": 2, "Pending": 1, "Completed": 1}
    assert frappe.db.get_value("Background Job", waiting[0], ["canceled_by", "reason"]) == (
        managers_desk.user,
        "sent twice",
    )


def test_the_preview_warns_of_types_that_are_not_idempotent(managers_desk: Desk, ours: str):
    people.job(ours, "test.letter", "Dead Letter", last_error="Timeout")
    frappe.db.commit()
    page = managers_desk.list(organization=ours)
    page.locator(".list-header-subject .list-check-all:visible").check()
    managers_desk.choose("Retry")

    warning = page.locator(".modal.show .je-warning").inner_text()
    assert "Not idempotent" in warning
    assert "test.letter: 1" in warning


def test_somebody_who_may_only_look_is_offered_nothing_and_refused_everything(
    desk_of: Callable[[str], Desk], ours: str, as_user: Callable[[str], None]
):
    name = people.job(ours, status="Dead Letter")
    frappe.db.commit()
    desk = desk_of("Job User")
    page = desk.list(organization=ours)
    page.locator(f'.list-row-checkbox[data-name="{name}"]').check()
    page.locator(".actions-btn-group:visible > button").click()
    offered = page.locator(".actions-btn-group:visible .dropdown-menu").inner_text()
    assert "Retry" not in offered
    assert "Cancel" not in offered
    page.keyboard.press("Escape")
    page.locator(f'.list-row-checkbox[data-name="{name}"]').uncheck()

    as_user(desk.user)
    for call in (bulk.preview, bulk.run):
        with pytest.raises(Forbidden):
            call("retry", names=[name])


def test_jobs_of_others_cannot_be_changed_by_their_names(desk_of: Any, ours: str, other: str, as_user: Any):
    theirs = people.job(other, status="Dead Letter")
    frappe.db.commit()
    as_user(desk_of("Job Manager").user)

    assert bulk.preview("retry", names=[theirs])["total"] == 0
    assert bulk.run("retry", names=[theirs])["changed"] == 0
    assert bulk.run("cancel", filters=[["Background Job", "organization", "=", other]])["changed"] == 0


def test_what_somebody_canceled_is_retried_only_when_they_ask_for_it(ours: str):
    people.job(ours, status="Canceled")
    dead = people.job(ours, status="Dead Letter")
    by_organization = ["Background Job", "organization", "=", ours]

    assert bulk.preview("retry", filters=[by_organization])["total"] == 1
    assert bulk.preview("retry", filters=[by_organization, ["Background Job", "status", "=", "Canceled"]])["total"] == 1
    assert bulk.preview("retry", names=[dead])["total"] == 1


def test_a_type_says_whether_its_jobs_can_be_run_again_without_harm():
    assert default_registry["test.letter"].idempotent is False
    assert default_registry["test.noop"].idempotent is True
