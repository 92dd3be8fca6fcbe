"""job_engine.track(job): the toast that any app can show for a job."""

from __future__ import annotations

import frappe

from job_engine.tests.site import people
from job_engine.tests.site.bench_workers import BenchWorkers
from job_engine.tests.site.desk.browsing import Desk
from job_engine.tests.site.running import Bench


def test_the_toast_survives_navigation_and_ends_with_a_link(desk: Desk, ours: str, workers: BenchWorkers):
    job = workers.enqueue("test.sleep", {"seconds": 2.0, "steps": 8}, organization=ours)
    page = desk.page
    page.evaluate("() => frappe.set_route('List', 'ToDo', 'List')")
    page.evaluate(
        "(name) => { job_engine.track(name, { title: 'Monthly report' }).then((s) => (window.je_ended = s.status)); }",
        job.name,
    )
    toast = page.locator(f'.je-toast[data-job="{job.name}"]')
    toast.wait_for()
    page.evaluate("() => frappe.set_route('List', 'File', 'List')")

    workers.start()

    toast.locator(".je-toast-message:text-matches('Step \\\\d+ of 8')").wait_for()
    page.evaluate("() => frappe.set_route('List', 'Note', 'List')")
    toast.filter(has_text="Completed").wait_for()
    assert "Monthly report" in toast.inner_text()
    desk.until("window.je_ended === 'Completed'")
    toast.locator(".je-toast-link a").click()
    desk.until(f"cur_frm?.docname === '{job.name}'")


def test_a_reload_does_not_lose_it_and_a_file_is_opened_directly(managers_desk: Desk, runner: Bench):
    wanted = {
        runner.enqueue("test.file", {"reference": "/files/report.pdf"}).name: "/files/report.pdf",
        runner.enqueue("test.file", {"reference": "https://example.com/a?b=c"}).name: "https://example.com/a?b=c",
    }
    smuggled = runner.enqueue("test.file", {"reference": "javascript:window.pwned=true"}).name
    wanted[smuggled] = f"/app/background-job/{smuggled}"
    frappe.db.commit()
    page = managers_desk.page
    page.evaluate("(names) => names.forEach((name) => job_engine.track(name))", list(wanted))
    for name in wanted:
        page.locator(f'.je-toast[data-job="{name}"]').filter(has_text="Queued").wait_for()

    page.reload()
    for name in wanted:
        page.locator(f'.je-toast[data-job="{name}"]').filter(has_text="Queued").wait_for()
    runner.run()

    for name, href in wanted.items():
        link = page.locator(f'.je-toast[data-job="{name}"] .je-toast-link a')
        assert link.get_attribute("href") == href


def test_a_job_that_is_not_for_this_user_is_not_tracked(managers_desk: Desk, other: str):
    theirs = people.job(other, "test_type_of_others", "Running", progress_message="secret-of-others")
    frappe.db.commit()
    page = managers_desk.page

    page.evaluate("(name) => { job_engine.track(name); }", theirs)

    page.locator(f'.je-toast[data-job="{theirs}"]').wait_for(state="detached")
    assert "of-others" not in page.content()
