"""The notification bell: what it says of a dead letter leads to the job."""

from __future__ import annotations

from datetime import timedelta

import frappe

from job_engine.site import alerts, marks
from job_engine.tests.site import people
from job_engine.tests.site.bench_workers import wait_until
from job_engine.tests.site.desk.browsing import Desk


def test_an_entry_leads_to_the_job(desk: Desk, ours: str):
    now = frappe.utils.now_datetime()
    for reader, at in ((alerts.READER, now - timedelta(minutes=10)), (alerts.SENT, now - timedelta(hours=1))):
        marks.take(reader, at)
        marks.move(reader, at)
    ended = now - timedelta(seconds=60)
    job = people.job(
        ours, status="Dead Letter", user=desk.user, last_error="ValueError: no such account", ended_at=ended
    )
    frappe.db.commit()

    alerts.send_due()  # or the site's own scheduler was quicker
    about = {"for_user": desk.user, "document_name": job}
    entry = wait_until(lambda: frappe.db.get_value("Notification Log", about), what="an entry of the bell")
    page = desk.page
    desk.load()  # Desk reads the bell's entries when it is loaded
    page.locator(".dropdown-notifications > button:visible, .notifications-icon:visible").first.click()
    page.locator(f'.notification-item[data-name="{entry}"]').click()

    desk.until(f"cur_frm?.je_form?.job?.name === '{job}'")
    assert "ValueError: no such account" in page.locator(".je-error-summary:visible").inner_text()
