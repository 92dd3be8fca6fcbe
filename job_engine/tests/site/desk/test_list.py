"""The list of jobs in Desk, as each kind of user sees it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import frappe
import pytest

from job_engine.site import engine
from job_engine.site.wire import Wire
from job_engine.tests.site import people
from job_engine.tests.site.bench_workers import BenchWorkers
from job_engine.tests.site.desk.browsing import Desk
from job_engine.tests.site.desk.conftest import KINDS


def test_a_row_tells_what_people_need(desk: Desk, ours: str):
    soon = frappe.utils.now_datetime() + timedelta(minutes=4, seconds=30)
    failed = people.job(ours, status="Failed", attempts=2, run_after=soon)
    running = people.job(ours, status="Running", attempts=1, progress=45, progress_message="Page 5 of 11")
    frappe.db.commit()

    page = desk.list(organization=ours)

    assert set(desk.rows()) == {failed, running}
    shown = desk.row(failed).inner_text()
    for text in ("test_type", ours, "Failed", "2 of 5", "in 4 min"):
        assert text in shown
    bar = desk.row(running).get_by_role("progressbar")
    assert bar.get_attribute("aria-valuenow") == "45"
    header = page.locator(".list-row-head:visible").inner_text()
    for title in ("Job Type", "Status", "Organization", "Progress", "Attempts", "Next Try", "Age"):
        assert title in header


def test_a_job_that_waits_for_another_has_no_time_for_its_next_try(managers_desk: Desk, ours: str):
    past = frappe.utils.now_datetime() - timedelta(minutes=5)
    blocked = people.job(ours, status="Pending", blockers=1, run_after=past)
    due = people.job(ours, status="Failed", attempts=1, run_after=past)
    frappe.db.commit()

    managers_desk.list(organization=ours)

    assert "after another" in managers_desk.row(blocked).inner_text()
    assert managers_desk.row(due).locator("time[data-as=due]").inner_text() == "now"


def test_a_list_that_is_sorted_or_searched_in_part_says_so(managers_desk: Desk, ours: str):
    people.job(ours)
    frappe.db.commit()

    def bound(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "bounded": {"sorted": 20000, "searched": 100000}})

    managers_desk.page.route("**/*reportview.get", bound)
    page = managers_desk.list(organization=ours)
    page.unroute("**/*reportview.get")

    note = page.locator(".je-bounds:visible")
    assert "Searched among the newest 100,000 jobs" in note.inner_text()
    assert "Sorted among the newest 20,000 that match" in note.inner_text()
    note.get_by_role("button", name="Search all jobs").click()
    managers_desk.until("cur_list.filter_area.get().some(([, field]) => field === 'creation')")
    note.wait_for(state="hidden")
    managers_desk.list(organization=ours)
    assert note.count() == 0, "nothing was left out"


def test_the_views(desk: Desk, ours: str):
    dead = people.job(ours, status="Dead Letter")
    running = people.job(ours, status="Running")
    waiting = {people.job(ours, status=status) for status in ("Pending", "Queued", "Failed", "Timed Out")}
    mine = people.job(ours, user=desk.user)
    frappe.db.commit()
    page = desk.list(organization=ours)

    for view, expected in {"dead_letter": {dead}, "running": {running}, "waiting": waiting, "mine": {mine}}.items():
        page.locator(f'.je-views:visible [data-view="{view}"]').click()
        page.locator(f'.je-views:visible [data-view="{view}"][aria-pressed="true"]').wait_for()
        desk.until(f"cur_list.data.some((doc) => doc.name === '{min(expected)}')")
        shown = set(desk.rows())
        assert expected <= shown
        if desk.kind != "System Manager":  # who sees what others on the site have
            assert shown == expected


def test_rows_move_without_a_reload_for_everybody_who_may_see_them(
    desk_of: Callable[[str], Desk], ours: str, workers: BenchWorkers
):
    job = workers.enqueue("test.sleep", {"seconds": 3.0, "steps": 10}, organization=ours)
    desks = [desk_of(kind) for kind in KINDS]
    for desk in desks:
        desk.list(organization=ours)
        desk.until_row_says(job.name, "Queued")
        desk.page.evaluate("() => { window.je_same_page = true; }")
        # From here on, only events can bring it. A request waits until that ends: one that fails is an error of the page.
        desk.page.route("**/*reportview*", lambda route: None)

    workers.start()

    for desk in desks:
        desk.row(job.name).get_by_role("progressbar").wait_for()
        first = int(desk.row(job.name).get_by_role("progressbar").get_attribute("aria-valuenow"))
        desk.until(f"+($('.list-row-container:visible [role=progressbar]').attr('aria-valuenow') ?? 101) > {first}")
    for desk in desks:
        desk.until_row_says(job.name, "Completed")
        assert desk.page.evaluate("window.je_same_page")
        desk.page.unroute("**/*reportview*")


def test_a_new_job_appears_by_itself(managers_desk: Desk, ours: str):
    managers_desk.list(organization=ours)
    assert managers_desk.rows() == []

    job = engine().enqueue("test.noop", organization=ours, run_after=3600)
    frappe.db.commit()

    managers_desk.row(job.name).wait_for()


def test_a_flood_of_events_is_no_flood_of_requests(managers_desk: Desk, ours: str):
    managers_desk.list(organization=ours)
    asked: list[str] = []
    managers_desk.page.on("request", lambda r: asked.append(r.url) if "/api/" in r.url else None)
    news = {"status": "Completed", "organization": ours, "job_type": "test.noop", "attempts": 1, "max_attempts": 5}
    room = f"doc:Organization/{ours}"

    for i in range(20):
        Wire().send([(room, "job_status_changed", {**news, "name": f"flood-{i}-{n}"}) for n in range(100)])
    managers_desk.until("cur_list.je_live.heard >= 2000 && !cur_list.je_live.is_stale")

    assert len(asked) <= 6, "one for the list and one for its count, at most once in four seconds"


def test_every_column_sorts_and_filters(managers_desk: Desk, ours: str):
    jobs = [people.job(ours, attempts=n, progress=n * 10, status="Running") for n in (2, 3, 1)]
    frappe.db.commit()
    page = managers_desk.list(organization=ours)

    for column in ("status", "organization", "progress", "run_after", "job_type", "creation", "attempts"):
        with page.expect_response(
            lambda r, column=column: "reportview.get" in r.url and f"%60{column}%60" in r.request.post_data
        ):
            page.locator(f'.list-row-head:visible [data-sort-by="{column}"]').click()
        managers_desk.until("cur_list.data.length === 3")
    page.locator('.list-row-head:visible [data-sort-by="attempts"]').click()
    managers_desk.until("cur_list.data[0]?.attempts === 3")
    assert managers_desk.rows() == [jobs[1], jobs[0], jobs[2]]

    managers_desk.list(organization=ours, attempts=[">", 1])
    assert set(managers_desk.rows()) == {jobs[0], jobs[1]}
    page.evaluate(
        "() => { cur_list.sort_selector.set_value('creation', 'desc'); cur_list.on_sort_change('creation', 'desc'); }"
    )


@pytest.mark.parametrize("width", [1400, 390])
def test_the_list_can_be_used_by_keyboard_and_fits_a_phone(managers_desk: Desk, ours: str, width: int):
    job = people.job(ours, status="Dead Letter", last_error="x" * 300)
    frappe.db.commit()
    page = managers_desk.page
    page.set_viewport_size({"width": width, "height": 800})
    managers_desk.list(organization=ours)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert "Dead Letter" in managers_desk.row(job).inner_text()

    page.keyboard.press("Escape")
    page.evaluate("() => document.activeElement?.blur()")
    page.keyboard.press("ArrowDown")
    managers_desk.until("document.activeElement.matches('.list-row-container')")
    page.keyboard.press("Enter")

    managers_desk.until(f"cur_frm?.je_form?.job?.name === '{job}'")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size({"width": 1400, "height": 900})
