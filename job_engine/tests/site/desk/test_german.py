"""Somebody whose language is German reads German: in lists, forms, pages and what the API answers. Others do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import frappe
import pytest

from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk
from job_engine.tests.site.desk.test_monitor import open_monitor
from job_engine.tests.site.running import Bench

POST = """async ([method, args]) => {
    const response = await fetch(`/api/method/job_engine.api.${method}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Frappe-CSRF-Token": frappe.csrf_token },
        body: JSON.stringify(args),
    });
    return { status: response.status, body: await response.json() };
}"""


@pytest.fixture
def german_desk(desk_of: Callable[..., Desk]) -> Desk:
    return desk_of("Job Manager", "de")


def answer(desk: Desk, method: str, **arguments: Any) -> tuple[int, str]:
    """The status and what the error says."""
    found = desk.page.evaluate(POST, [method, arguments])
    return found["status"], found["body"]["error"]["message"]


def test_the_list(german_desk: Desk, ours: str):
    soon = frappe.utils.now_datetime() + timedelta(minutes=4, seconds=30)
    failed = people.job(ours, status="Failed", attempts=2, run_after=soon)
    dead = people.job(ours, status="Dead Letter", last_error="KeyError: 12")
    frappe.db.commit()

    page = german_desk.list(organization=ours)

    header = page.locator(".list-row-head:visible").inner_text()
    for title in ("Jobtyp", "Organisation", "Fortschritt", "Versuche", "Nächster Versuch", "Alter"):
        assert title in header
    shown = german_desk.row(failed).inner_text()
    for text in ("Fehlgeschlagen", "2 von 5", "in 4 Min"):
        assert text in shown
    assert "Endgültig gescheitert" in german_desk.row(dead).inner_text()
    views = page.locator(".je-views:visible button").all_inner_texts()
    assert views == ["Alle", "Endgültig gescheitert", "Läuft", "Wartend", "Meine"]


def test_what_a_bulk_action_would_do(german_desk: Desk, ours: str):
    name = people.job(ours, "test.letter", "Dead Letter", last_error="KeyError: 12")
    frappe.db.commit()
    page = german_desk.list(organization=ours)
    page.locator(f'.list-row-checkbox[data-name="{name}"]').check()
    german_desk.choose("Wiederholen")
    german_desk.until("cur_dialog?.display")

    dialog = page.locator(".modal.show").inner_text()

    for text in ("Jobs wiederholen", "Nicht idempotent", "1 Jobs", "Welche Jobs", "Alle sofort"):
        assert text in dialog
    assert "KeyError" in dialog, "what was stored stays as it was written"


def test_the_form_and_its_sentence(german_desk: Desk, runner: Bench):
    job = runner.enqueue("test.fail", {"error": "PermanentError", "message": "Invoice 12 is no invoice"})
    runner.run()

    shown = german_desk.form(job.name)

    sentence = shown.locator(".je-explanation").inner_text()
    assert sentence.startswith("Endgültig gescheitert am ")
    assert sentence.endswith("Das bleibt so, bis jemand den Job wiederholt.")
    assert "nach 1 von 2 Versuchen" in sentence
    assert "UTC" not in sentence, "times are in the reader's zone and format in every language"
    assert "permanent: the handler raised PermanentError" in sentence, "a stored reason is told as it stands there"
    assert "Invoice 12 is no invoice" in sentence
    buttons = german_desk.page.locator(".page-actions:visible button:visible").all_inner_texts()
    for label in ("Wiederholen", "Mit geänderten Parametern wiederholen", "Als Code kopieren"):
        assert label in [text.strip() for text in buttons]
    labels = german_desk.page.locator(".page-container:visible .form-layout").inner_text()
    for label in ("Priorität", "Zeitlimit (Sekunden)", "Warteschlange"):
        assert label in labels


def test_the_monitor(german_desk: Desk, ours: str):
    people.job(ours, status="Dead Letter", last_error="KeyError: 12")
    frappe.db.commit()

    page = open_monitor(german_desk)

    shown = page.locator(".job-monitor").inner_text()
    for text in (
        "Durchsatz",
        "Fehlerquote",
        "Wartezeit p50 / p95",
        "Nach Jobtyp",
        "24 Stunden",
        "der abgeschlossenen Jobs",
    ):
        assert text in shown
    assert page.locator("[data-chart=priorities] .x.axis text").all_text_contents() == [
        "Kritisch",
        "Hoch",
        "Normal",
        "Niedrig",
    ]
    assert page.locator(".page-title:visible").inner_text().strip().startswith("Jobmonitor")


def test_the_workspace(german_desk: Desk):
    page = german_desk.page
    page.evaluate("() => frappe.set_route('job-engine')")

    page.locator(".number-widget-box:visible >> text=Endgültig gescheiterte Jobs").wait_for()
    page.locator(".shortcut-widget-box:visible >> text=Jobmonitor").wait_for()
    page.locator(".dashboard-widget-box:visible >> text=Durchsatz an Jobs").wait_for()
    page.locator(".ce-header:visible >> text=/^Ihre /").wait_for()


def test_the_progress_toast(german_desk: Desk, ours: str):
    job = people.job(ours, "test.noop", "Dead Letter", last_error="KeyError: 12")
    frappe.db.commit()

    german_desk.page.evaluate("(name) => { job_engine.track(name); }", job)

    toast = german_desk.page.locator(".je-toast")
    toast.filter(has_text="Ansehen, was geschehen ist").wait_for()
    assert "Endgültig gescheitert" in toast.inner_text()


def test_errors_of_the_api_and_of_the_engine(german_desk: Desk, ours: str):
    waiting = people.job(ours, "test.noop", "Queued", queue="nobodys")
    frappe.db.commit()

    assert answer(german_desk, "get_job_status", name="nobody's") == (
        404,
        "Es gibt keinen Job nobody's, den Sie sehen dürfen.",
    )
    status, message = answer(german_desk, "retry_job", name=waiting)
    assert status == 409
    assert message.startswith(f"Der Job {waiting} hat den Status „Warteschlange“; wiederholt werden können nur Jobs in")
    assert "Abgebrochen, Endgültig gescheitert" in message
    status, message = answer(
        german_desk, "submit_job", job_type="test.effect", organization=ours, params=json.dumps({"value": "x" * 70_000})
    )
    assert status == 413
    assert message.startswith("params: 700"), message
    assert "die Grenze ist 65536" in message


def test_a_policy_that_cannot_work_is_refused_in_german(desk_of: Callable[..., Desk]):
    """The engine says so, and the form of the job type shows it."""
    desk = desk_of("System Manager", "de")
    said = desk.page.evaluate(
        """async () => {
            const response = await fetch("/api/resource/Job Type/test.effect", {
                method: "PUT",
                headers: { "Content-Type": "application/json", "X-Frappe-CSRF-Token": frappe.csrf_token },
                body: JSON.stringify({ rate: "often" }),
            });
            return (await response.json())._server_messages;
        }"""
    )

    assert "Die Rate 'often' ist nicht lesbar." in json.loads(json.loads(said)[0])["message"]


def test_others_read_english_at_the_same_time(german_desk: Desk, managers_desk: Desk, ours: str):
    """The same web process answers both."""
    job = people.job(ours, "test.noop", "Canceled", canceled_by="ops@example.com")
    frappe.db.commit()
    ask = "(name) => job_engine.call('explain_job', { name }).then((answer) => answer.explanation)"

    for _ in range(3):
        assert german_desk.page.evaluate(ask, job).startswith("Abgebrochen von ops@example.com am ")
        assert managers_desk.page.evaluate(ask, job).startswith("Canceled by ops@example.com at ")
