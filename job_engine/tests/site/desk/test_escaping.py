"""Whatever handlers and users write is text. Each page of jobs is opened with an attempt at more in every field.

The organization's name would end an attribute, and the users' names are markup, in all the other tests as well: each ends with a
look at whether anything was run.
"""

from __future__ import annotations

import json

import frappe

from job_engine.site import engine
from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk


def evil(field: str) -> str:
    """Markup and an end of an attribute. What runs leaves the field's name behind."""
    return (
        f"""<img src=x onerror="window.pwned = '{field}'"><script>window.pwned = '{field}'</script>"""
        f"""' onmouseover='window.pwned = `{field}`' " onfocus="window.pwned = `{field}`" autofocus="""
    )


BOTH = evil("event")


def evil_job(organization: str, status: str, **columns: object) -> str:
    name = people.job(
        organization,
        "test.fail",
        status,
        user=evil("user")[:140],
        params=json.dumps({evil("key"): evil("params"), "list": [evil("list")]}),
        result=json.dumps({"file": f"javascript:window.pwned='file'//{evil('file')}", evil("result"): evil("result")}),
        checkpoint=json.dumps(evil("checkpoint")),
        last_error=f"{evil('error')}\n{evil('error')}",
        traceback=evil("traceback"),
        reason=evil("reason"),
        progress=40,
        progress_message=evil("progress"),
        canceled_by=evil("canceled_by")[:140],
        dedup_key=f"{status}{evil('dedup_key')}"[:140],
        handler=None,
        attempts=1,
        **columns,
    )
    now = frappe.utils.now_datetime()
    frappe.db.sql(
        """INSERT INTO `tabJob Execution Log` (job, from_status, to_status, attempt, actor, duration, error, reason, creation)
            VALUES (%s, 'Running', %s, 1, %s, 2, %s, %s, %s)""",
        (name, status, evil("actor")[:140], evil("log error"), evil("log reason"), now),
    )
    return name


def test_nothing_of_it_is_run_anywhere(desk: Desk, ours: str):
    statuses = ("Running", "Dead Letter", "Completed", "Failed", "Canceled")
    jobs = {status: evil_job(ours, status) for status in statuses}
    parent = engine().enqueue("test.noop", organization=ours, run_after=3600)
    engine().enqueue("test.noop", {"i": 1}, organization=ours, depends_on=parent.name)
    frappe.db.commit()
    page = desk.list(organization=ours)
    for name in jobs.values():
        desk.row(name).hover()

    if desk.kind != "Job User":
        page.locator(".list-header-subject .list-check-all:visible").check()
        desk.choose("Retry")
        assert "<img" in page.locator(".modal.show .je-preview table").first.inner_text()
        desk.until("window.cur_dialog")
        page.evaluate("() => { cur_dialog.hide(); cur_list.clear_checked_items(); }")

    for name in (*jobs.values(), parent.name):
        shown = desk.form(name)
        for folded in ("je-traceback", "je-changes"):
            if shown.locator(f"details.{folded}").count():
                shown.locator(f"details.{folded} summary").click()
        page.locator(".form-tabs:visible >> text=Parameters and Result").click()
        page.locator(".form-tabs .nav-link:visible").first.click()
        shown.locator("svg .je-attempt").first.hover() if name != parent.name else None

    page.evaluate(
        "(name) => { job_engine.track(name, { title: '<img src=x onerror=\"window.pwned = true\">' }); }",
        jobs["Running"],
    )
    assert "<img" in page.locator(".je-toast").filter(has_text="autofocus").inner_text()
    page.evaluate("(name) => { job_engine.track(name); }", jobs["Completed"])
    page.locator(".je-toast-link a[href^='/app/background-job/']").wait_for()


def test_an_event_is_text_as_well(managers_desk: Desk, ours: str):
    job = evil_job(ours, "Running")
    frappe.db.commit()
    page = managers_desk.list(organization=ours)
    event = {
        "name": job,
        "status": "Running",
        "progress": BOTH,
        "progress_message": BOTH,
        "attempts": BOTH,
        "run_after": BOTH,
    }

    page.evaluate("(event) => cur_list.je_live.hear(event)", event)
    managers_desk.until("!cur_list.je_live.drawing")
    managers_desk.form(job)
    page.evaluate("(event) => cur_frm.je_form.hear('job_progress', event)", event)

    assert "<img" in page.locator(".je-progress-text:visible").inner_text()


def test_a_job_types_own_words_are_text(managers_desk: Desk):
    document = frappe.get_doc("Job Type", "test.noop")
    document.update({"description": evil("description")}).save()
    frappe.db.commit()
    managers_desk.page.evaluate("() => frappe.set_route('Form', 'Job Type', 'test.noop')")
    managers_desk.page.locator(".je-type:visible .je-policy").wait_for()
    managers_desk.until("cur_frm.doc.description")
    document.update({"description": "Nothing."}).save()
    frappe.db.commit()


def test_reports_and_the_history_show_texts(managers_desk: Desk, ours: str):
    job = evil_job(ours, "Dead Letter")
    frappe.db.commit()
    page = managers_desk.page
    page.evaluate(SHOW_REPORT, ours)
    page.locator(".datatable:visible .dt-cell__content >> text=/onerror/").first.wait_for()

    page.set_viewport_size({"width": 2000, "height": 900})  # as many columns as there can be
    page.evaluate("(job) => frappe.set_route('List', 'Job Execution Log', 'List', { job })", job)
    page.locator(".list-row:visible >> text=/onerror/").first.wait_for()
    page.set_viewport_size({"width": 1400, "height": 900})
    log = frappe.db.get_value("Job Execution Log", {"job": job})
    page.evaluate("(log) => frappe.set_route('Form', 'Job Execution Log', log)", str(log))
    page.locator("[data-fieldname=error]:visible >> text=/onerror/").first.wait_for()


SHOW_REPORT = """async (organization) => {
    const fields = ["job_type", "last_error", "reason", "progress_message", "user", "organization", "canceled_by"];
    const columns = fields.map((field) => [field, "Background Job"]);
    await frappe.model.user_settings.save("Background Job", "Report", { fields: columns });
    frappe.route_options = { organization };
    await frappe.set_route("List", "Background Job", "Report");
}"""
