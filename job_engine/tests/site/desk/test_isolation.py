"""A second organization's data is never in a page, nor in any answer, nor in any event."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import frappe
import pytest

from job_engine.core.job import Outcome
from job_engine.core.states import Status
from job_engine.site import engine
from job_engine.site.realtime import Publisher
from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk

MARK = "of-others"  # in the name of their organization, their types and their errors


@pytest.mark.parametrize("kind", ["Job Manager", "Job User"])
def test_nothing_of_another_organization_reaches_the_browser(
    desk_of: Callable[[str], Desk], ours: str, other: str, kind: str
):
    mine = people.job(ours, status="Dead Letter", last_error="ours")
    theirs = people.job(other, "type-of-others", "Dead Letter", last_error="error-of-others")
    running = people.job(other, "type-of-others", "Running", progress_message="progress-of-others")
    frappe.db.commit()
    desk = desk_of(kind)
    heard: list[str] = []

    def note(route: Any) -> None:
        response = route.fetch()
        heard.append(response.text())
        route.fulfill(response=response)

    def note_line(line: Any) -> None:
        line.on("framereceived", lambda frame: heard.append(str(frame)))

    desk.page.on("websocket", note_line)
    desk.context.route("**/api/**", note)
    heard.append(
        desk.context.request.get(f"{os.environ['JOB_ENGINE_SITE_URL']}/app/background-job").text()
    )  # its boot data
    desk.load("background-job")
    desk.list()
    Publisher(engine().store).ended(
        [Outcome(running, 1, Status.COMPLETED, 2.0, "type-of-others", other, max_attempts=5)]
    )
    Publisher(engine().store).ended([Outcome(mine, 1, Status.COMPLETED, 2.0, "test_type", ours, max_attempts=5)])
    desk.until_row_says(mine, "Completed")
    for view in ("dead_letter", "running", "waiting", "mine", "all"):
        desk.page.locator(f'.je-views:visible [data-view="{view}"]').click()
        desk.page.locator(f'.je-views:visible [data-view="{view}"][aria-pressed="true"]').wait_for()
    desk.form(mine)
    # What they may not see, asked for directly.
    asked = desk.page.evaluate(ASK, theirs)
    desk.page.evaluate("(name) => frappe.set_route('Form', 'Background Job', name)", theirs)
    desk.page.locator("text=/not found|not permitted|Insufficient Permission/i >> visible=true").first.wait_for()
    content = desk.page.content()
    desk.context.unroute("**/api/**")
    desk.page.evaluate("() => frappe.hide_msgprint?.(true)")
    desk.load()

    assert any(mine in text for text in heard), "something was recorded"
    assert any("job_status_changed" in text and mine in text for text in heard), "events as well"
    assert not [text for text in heard if MARK in text]
    assert MARK not in content
    assert [status for status in asked if status < 400] == []


ASK = """async (name) => {
    const urls = [
        `/api/method/job_engine.api.get_job?name=${name}`,
        `/api/method/job_engine.api.get_job_status?name=${name}`,
        `/api/method/job_engine.api.get_job_history?name=${name}`,
        `/api/method/job_engine.api.explain_job?name=${name}`,
        `/api/method/frappe.desk.form.load.getdoc?doctype=Background+Job&name=${name}`,
        `/api/resource/Background%20Job/${name}`,
    ];
    return Promise.all(urls.map(async (url) => (await fetch(url)).status));
}"""
