"""The form of a job in Desk, as each kind of user sees it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import timedelta

import frappe
import pytest

from job_engine.site import engine
from job_engine.site.wire import Wire
from job_engine.tests.site import people
from job_engine.tests.site.bench_workers import BenchWorkers, wait_until
from job_engine.tests.site.desk.browsing import Desk
from job_engine.tests.site.desk.conftest import KINDS
from job_engine.tests.site.running import Bench

MANAGERS = ("System Manager", "Job Manager")


def test_a_dead_letter_is_understood_at_a_glance(desk: Desk, runner: Bench):
    job = runner.enqueue("test.fail", {"error": "TransientError", "message": "the bank does not answer"})
    runner.run()
    engine().tick()  # what failed becomes due again
    runner.run()

    shown = desk.form(job.name)

    sentence = shown.locator(".je-explanation").inner_text()
    assert sentence == desk.page.evaluate(IN_ONES_OWN_ZONE, engine().explain(job.name))
    assert "UTC" not in sentence
    assert shown.locator(".je-attempt").count() == 2
    assert shown.locator('.je-attempt[data-status="Dead Letter"]').count() == 1
    assert "the bank does not answer" in shown.locator(".je-error-summary").inner_text()
    traceback = shown.locator("details.je-traceback")
    if desk.kind in MANAGERS:
        assert not traceback.locator("pre").is_visible(), "folded at first"
        traceback.locator("summary").press("Enter")
        assert "Traceback (most recent call last)" in traceback.locator("pre").inner_text()
    else:
        assert traceback.count() == 0
    desk.page.locator(".form-tabs:visible >> text=Parameters and Result").click()
    assert '"message": "the bank does not answer"' in desk.page.locator(".je-payload:visible pre").first.inner_text()
    assert desk.button("Retry").is_visible() is (desk.kind in MANAGERS)
    assert desk.button("Save").count() == 0, "nobody writes a job by hand"


def test_when_the_next_attempt_comes_is_in_the_picture(managers_desk: Desk, ours: str):
    later = frappe.utils.now_datetime() + timedelta(minutes=9, seconds=40)
    job = people.job(ours, status="Failed", attempts=1, run_after=later)
    frappe.db.commit()

    shown = managers_desk.form(job)

    assert "in 9 min" in shown.locator('.je-attempt[data-status="next"]').text_content()
    assert "attempt 2" in shown.locator("svg.je-picture").get_attribute("aria-label")


@pytest.mark.parametrize("width", [1400, 390])
def test_no_text_of_the_picture_lies_on_another(managers_desk: Desk, ours: str, width: int):
    job = people.job(ours, status="Running", attempts=2, started_at=frappe.utils.now_datetime())
    for minutes_ago, change in enumerate(((1, "Failed"), (2, "Dead Letter"), (None, "Queued"), (1, "Timed Out"))):
        log(job, *change, minutes_ago=9 - 2 * minutes_ago)
    frappe.db.commit()
    page = managers_desk.page
    page.set_viewport_size({"width": width, "height": 900})
    shown = managers_desk.form(job)
    shown.locator('.je-attempt[data-status="Running"]').wait_for()

    texts = shown.locator("svg.je-picture text").evaluate_all(BOXES)
    frame = shown.locator("svg.je-picture").evaluate_all(BOXES)[0]
    page.set_viewport_size({"width": 1400, "height": 900})

    assert len(texts) == 2 * 5 + 2, "a label and a text of each row, and the two ends of the axis"
    overlapping = [(a["text"], b["text"]) for a, b in itertools.combinations(texts, 2) if overlap(a, b)]
    outside = [t["text"] for t in texts if t["left"] < frame["left"] - 1 or t["right"] > frame["right"] + 1]
    assert (overlapping, outside) == ([], [])
    assert "by somebody@example.com" in shown.locator("svg.je-picture").get_attribute("aria-label")


def log(job: str, attempt: int | None, to_status: str, minutes_ago: int) -> None:
    """A change of the job's state: the end of an attempt, or without one a retry by hand."""
    at = frappe.utils.now_datetime() - timedelta(minutes=minutes_ago)
    frappe.db.sql(
        """INSERT INTO `tabJob Execution Log` (job, from_status, to_status, attempt, actor, duration, creation)
            VALUES (%s, %s, %s, %s, %s, %s, %s)""",
        (job, "Running" if attempt else "Dead Letter", to_status, attempt or 2, "somebody@example.com", 40, at),
    )


BOXES = """(elements) => elements.map((element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return { left, right, top, bottom, text: element.textContent };
})"""


def overlap(a: dict[str, float], b: dict[str, float]) -> bool:
    return a["left"] < b["right"] and b["left"] < a["right"] and a["top"] < b["bottom"] and b["top"] < a["bottom"]


def test_what_somebody_reads_stays_as_it_is_when_the_job_moves(managers_desk: Desk, ours: str):
    job = people.job(ours, status="Running", attempts=1, progress=10)
    frappe.db.commit()
    shown = managers_desk.form(job)
    page = managers_desk.page
    shown.locator("details.je-changes summary").click()
    managers_desk.button("Cancel Job").focus()

    frappe.db.set_value("Background Job", job, "progress", 55)
    frappe.db.commit()
    page.evaluate("() => cur_frm.je_form.load_again()")
    page.locator('.je-job:visible .je-progress [aria-valuenow="55"]').wait_for()

    assert shown.locator("details.je-changes").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.textContent.trim()") == "Cancel Job"
    shown.locator("details.je-changes summary").press("Shift+Tab")
    style = page.evaluate(
        "(({ outlineStyle, outlineWidth }) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))"
    )
    assert style == ["solid", "2px"], "where the keyboard is can be seen"


def test_no_secret_reaches_the_browser(desk: Desk, ours: str):
    secret = "hunter2-is-secret"
    job = people.job(
        ours,
        status="Dead Letter",
        params=json.dumps({"api_key": secret, "template": "monthly"}),
        result=json.dumps({"token": secret}),
        checkpoint=json.dumps({"password": secret}),
        traceback=f"password={secret}",
        last_error=f"Error: token={secret}",
        progress_message=f"password={secret}",
    )
    frappe.db.commit()
    answers: list[str] = []

    def note(route: object) -> None:
        response = route.fetch()  # type: ignore[attr-defined]
        answers.append(response.text())
        route.fulfill(response=response)  # type: ignore[attr-defined]

    desk.page.route("**/api/**", note)
    desk.form(job)
    desk.page.unroute("**/api/**")

    assert any("monthly" in answer for answer in answers)
    assert not [answer for answer in answers if secret in answer]
    assert secret not in desk.page.content()


def test_frappes_own_calls_give_no_parameters_or_tracebacks(ours: str, as_user: Callable[[str], None]):
    job = people.job(ours, status="Dead Letter", params='{"api_key": "hunter2"}', traceback="password=hunter2")
    manager = people.user("Job Manager", organizations=(ours,))
    as_user(manager)

    document = frappe.get_doc("Background Job", job)
    document.apply_fieldlevel_read_permissions()  # as /api/resource and every list do
    listed = frappe.get_list("Background Job", filters={"name": job}, fields=["*"])[0]

    assert "hunter2" not in frappe.as_json(document.as_dict())
    assert "hunter2" not in frappe.as_json(listed)


def test_relatives_are_one_click_away(desk: Desk, runner: Bench):
    parent = runner.enqueue("test.noop", {"i": 1})
    child = runner.enqueue("test.effect", depends_on=parent.name)
    grandchild = runner.enqueue("test.noop", {"i": 2}, depends_on=child.name)
    frappe.db.commit()
    shown = desk.form(child.name)

    family = shown.locator(".je-family a").evaluate_all("links => links.map((a) => a.pathname.split('/').pop())")
    assert family == [parent.name, grandchild.name]
    shown.locator(".je-family a").first.click()
    desk.until(f"cur_frm?.je_form?.job?.name === '{parent.name}'")


def test_progress_moves_without_a_reload_for_everybody_who_may_see_it(
    desk_of: Callable[[str], Desk], ours: str, workers: BenchWorkers
):
    job = workers.enqueue("test.sleep", {"seconds": 3.0, "steps": 10}, organization=ours)
    desks = [desk_of(kind) for kind in KINDS]
    for desk in desks:
        desk.form(job.name)
        desk.page.evaluate("() => { window.je_same_page = true; }")

    workers.start()

    for desk in desks:
        shown = desk.page.locator(".je-job:visible")
        shown.locator(".je-progress >> text=/Step \\d+ of 10/").wait_for()
        assert indicator(desk) == "Running"
        first = int(shown.locator(".je-progress [role=progressbar]").get_attribute("aria-valuenow"))
        desk.until(f"+($('.je-job:visible .je-progress [role=progressbar]').attr('aria-valuenow') ?? 101) > {first}")
    for desk in desks:
        desk.page.locator('.je-job:visible .je-sentence .je-status[data-status="Completed"]').wait_for()
        assert indicator(desk) == "Completed"
        assert desk.page.evaluate("window.je_same_page")


def indicator(desk: Desk) -> str:
    """What stands beside the form's title."""
    return desk.page.locator(".page-head:visible .indicator-pill:visible").inner_text()


def test_a_form_that_hears_nothing_asks_and_enters_the_room_again(managers_desk: Desk, ours: str):
    job = people.job(ours, status="Running", attempts=1, progress=10)
    frappe.db.commit()
    managers_desk.form(job)
    page = managers_desk.page
    page.evaluate("(job) => frappe.realtime.emit('doc_unsubscribe', 'Background Job', job)", job)
    frappe.db.set_value("Background Job", job, "progress", 20)
    frappe.db.commit()

    page.evaluate("() => cur_frm.je_form.poll()")

    bar = "document.querySelector('.je-job .je-progress [role=progressbar]')?.getAttribute('aria-valuenow')"
    managers_desk.until(f"{bar} === '20'")
    news = {"name": job, "status": "Running", "progress": 30, "organization": ours}
    wait_until(
        lambda: Wire().send([(f"doc:Background Job/{job}", "job_progress", news)]) or page.evaluate(f"{bar} === '30'"),
        what="an event is heard again",
    )


@pytest.mark.parametrize("kind", MANAGERS)
def test_retry_is_two_clicks(desk_of: Callable[[str], Desk], runner: Bench, kind: str):
    job = runner.enqueue("test.fail", {"error": "PermanentError"})
    runner.run()
    desk = desk_of(kind)
    desk.form(job.name)

    desk.button("Retry").click()
    desk.page.locator(".modal.show button:has-text('Yes')").click()

    desk.page.locator('.je-job:visible .je-sentence .je-status[data-status="Queued"]').wait_for()
    assert indicator(desk) == "Queued"
    retried = desk.page.locator('.je-job:visible .je-attempt[data-status="retry"]')
    assert f"by {desk.user}" in retried.text_content()
    assert engine().history(job.name)[-1].actor == desk.user


def test_retry_needs_no_mouse(managers_desk: Desk, runner: Bench):
    job = runner.enqueue("test.fail", {"error": "PermanentError"})
    runner.run()
    managers_desk.form(job.name)
    page = managers_desk.page

    managers_desk.button("Retry").focus()
    page.keyboard.press("Enter")
    page.locator(".modal.show button:has-text('Yes')").wait_for()
    managers_desk.until("window.cur_dialog?.confirm_dialog && document.activeElement.closest('.modal.show')")
    page.keyboard.press("Enter")

    page.locator('.je-job:visible .je-sentence .je-status[data-status="Queued"]').wait_for()


def test_retry_with_changed_parameters_is_kept_in_the_history(managers_desk: Desk, runner: Bench):
    job = runner.enqueue("test.fail", {"error": "PermanentError", "message": "wrong account"})
    runner.run()
    shown = managers_desk.form(job.name)
    page = managers_desk.page

    managers_desk.button("Retry with Changed Parameters").click()
    page.locator(".modal.show .ace_editor").wait_for()
    managers_desk.until("cur_dialog")
    page.evaluate("""() => cur_dialog.set_value("params", '{"error": "PermanentError", "message": "right account"}')""")
    page.wait_for_function("() => cur_dialog.get_value('params').includes('right')")
    managers_desk.press_in_dialog()

    page.locator('.je-job:visible .je-sentence .je-status[data-status="Queued"]').wait_for()
    shown.locator("details.je-changes summary").click()
    changes = shown.locator("details.je-changes").inner_text()
    assert 'message: "wrong account" -> "right account"' in changes
    assert managers_desk.user in changes
    assert runner.get(job).params["message"] == "right account"


def test_a_mask_cannot_become_the_secret(managers_desk: Desk, ours: str):
    job = people.job(ours, "test.fail", "Dead Letter", params='{"message": "x", "error": "token=abcdefgh12345678"}')
    frappe.db.commit()
    managers_desk.form(job)

    managers_desk.button("Retry with Changed Parameters").click()
    managers_desk.page.locator(".modal.show .ace_editor").wait_for()
    managers_desk.until("cur_dialog?.get_value('params')?.includes('****')")
    managers_desk.press_in_dialog()

    managers_desk.page.locator(".msgprint:visible >> text=where a secret was masked").wait_for()
    managers_desk.page.evaluate("() => { frappe.hide_msgprint(true); cur_dialog?.hide(); }")
    frappe.db.rollback()
    assert frappe.db.get_value("Background Job", job, "status") == "Dead Letter"


@pytest.mark.parametrize("kind", MANAGERS)
def test_cancel_asks_for_a_reason(desk_of: Callable[[str], Desk], runner: Bench, kind: str):
    job = runner.enqueue("test.noop", run_after=3600)
    frappe.db.commit()
    desk = desk_of(kind)
    desk.form(job.name)

    desk.button("Cancel Job").click()
    desk.page.locator(".modal.show [data-fieldname=reason] input").fill("no longer needed")
    desk.press_in_dialog()

    desk.page.locator('.je-job:visible .je-sentence .je-status[data-status="Canceled"]').wait_for()
    canceled = wait_until(lambda: (found := runner.get(job)).status == "Canceled" and found)
    assert (canceled.canceled_by, canceled.reason) == (desk.user, "no longer needed")


def test_a_job_can_be_copied_as_code(desk: Desk, ours: str):
    job = people.job(ours, "test.noop", params='{"i": 3, "flag": true, "none": null}')
    frappe.db.commit()
    desk.form(job)

    desk.button("Copy as Code").click()

    desk.page.wait_for_function("async () => (await navigator.clipboard.readText()).includes('enqueue')")
    code = desk.page.evaluate("navigator.clipboard.readText()")
    call = compile(code, "copied", "exec")
    assert call is not None
    assert '"test.noop"' in code
    assert '"flag": True' in code
    assert '"none": None' in code


def test_the_form_is_readable_in_the_dark(managers_desk: Desk, runner: Bench):
    job = runner.enqueue("test.fail", {"error": "PermanentError"})
    runner.run()
    managers_desk.form(job.name)
    page = managers_desk.page

    page.evaluate("document.documentElement.setAttribute('data-theme', 'dark')")
    contrasts = {
        selector: page.evaluate(CONTRAST, selector)
        for selector in (".je-explanation", ".je-error-summary", ".je-picture .je-text", ".je-changes summary")
    }
    page.evaluate("document.documentElement.setAttribute('data-theme', 'light')")

    assert {s: c for s, c in contrasts.items() if c < 4.5} == {}


# Every "2030-01-31 12:00:00 UTC" as Desk writes a time.
IN_ONES_OWN_ZONE = """(text) => text.replace(/([\\d-]+) ([\\d:]+) UTC/g,
    (_, day, time) => job_engine.full_time(`${day}T${time}Z`))"""

# Of a text and the first background behind it that is not transparent, as WCAG counts it.
CONTRAST = """(selector) => {
    const parts = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    let element = [...document.querySelectorAll(selector)].find((e) => e.getClientRects().length);
    const style = getComputedStyle(element);
    const text = light(parts(element instanceof SVGElement ? style.fill : style.color));
    while (element && (parts(getComputedStyle(element).backgroundColor)[3] ?? 1) === 0) element = element.parentElement;
    const behind = light(parts(getComputedStyle(element).backgroundColor));
    return (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
}"""
