"""The list of jobs in Desk."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import frappe

from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk


def test_a_row_tells_what_people_need(desk: Desk, ours: str):
    soon = frappe.utils.now_datetime() + timedelta(minutes=4, seconds=30)
    failed = people.job(ours, status="Failed", attempts=2, run_after=soon)
    running = people.job(ours, status="Running", attempts=1, progress=45, progress_message="Page 5 of 11")
    frappe.db.commit()

    desk.list(f"organization={frappe.utils.quoted(ours)}")

    desk.row(running).wait_for()
    shown = desk.row(failed).inner_text()
    assert "2 of 5" in shown
    assert "in 4 min" in shown
    assert "test_type" in shown
    assert ours in shown
    desk.status_in_row(failed, "Failed")
    bar = desk.row(running).get_by_role("progressbar")
    assert bar.get_attribute("aria-valuenow") == "45"
    desk.page.screenshot(path="/tmp/list.png")
