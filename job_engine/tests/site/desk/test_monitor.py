"""The Job Monitor: as an operator and as an organization's manager sees it, live, and as cheap as it promises."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import frappe
import pytest

from job_engine.site import engine, monitor
from job_engine.store import stats
from job_engine.store.session import Session
from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk
from job_engine.tests.site.desk.conftest import forget_everything

FILLER = 20_000  # ended jobs, which the monitor must not read
PAYLOAD = "<img src=x onerror='window.pwned = true'>\"><script>window.pwned = true</script>"
ERROR = "RuntimeError: the far side is away"


# What a test finds -----------------------------------------------------------------------------------------------------------


def dead_letters(organization: str, n: int, error: str = ERROR, job_type: str = "test.effect") -> list[str]:
    ended = frappe.utils.now_datetime()
    made = [
        people.job(
            organization, job_type, "Dead Letter", last_error=error, error_type="Transient", reason="attempts exhausted",
            attempts=5, ended_at=ended, params="{}",
        )
        for _ in range(n)
    ]  # fmt: skip
    frappe.db.commit()
    return made


def count(organization: str, event: str, n: int = 1, seconds: float = 1.0, job_type: str = "test.effect") -> None:
    """As if a worker had counted it now."""
    store = engine().store
    with store.session() as session:
        stats.record(session, [(job_type, organization, event, seconds)] * n, "a test", store.now())
    frappe.db.commit()


@pytest.fixture(autouse=True)
def no_counters_left(tenants: tuple[str, str]) -> Iterator[None]:
    forget_everything()
    yield
    frappe.db.rollback()
    for organization in tenants:
        frappe.db.sql("DELETE FROM `__job_engine_stat` WHERE organization = %s", organization)
        frappe.db.sql("DELETE FROM `__job_engine_control` WHERE target = %s", organization)
    frappe.db.commit()


def open_monitor(desk: Desk) -> Any:
    """Go there, and wait until it shows what the server knows now."""
    desk.page.evaluate("() => frappe.set_route('job-monitor')")
    desk.until("document.querySelector('#page-job-monitor')?.monitor?.data && frappe.get_route()[0] === 'job-monitor'")
    desk.page.evaluate(
        """() => {
            const { monitor } = document.querySelector('#page-job-monitor');
            monitor.body.attr('data-state', 'loading');
            return monitor.refresh();
        }"""
    )
    desk.until("document.querySelector('.job-monitor[data-state=ready] .jm-live .green')")
    return desk.page


def ledger_row(page: Any, organization: str) -> Any:
    return page.locator(f"[data-organization={json.dumps(organization)}]")


def cause_row(page: Any, text: str) -> Any:
    return page.locator("tr[data-cause]", has_text=text)


# What each sees --------------------------------------------------------------------------------------------------------------


def test_an_operator_sees_every_organization(desk_of: Callable[[str], Desk], ours: str, other: str):
    dead_letters(ours, 3)
    dead_letters(other, 2)
    for organization in (ours, other):
        count(organization, "Completed", 7)
        count(organization, stats.CLAIMED, 7, 2.0)
        count(organization, "Dead Letter")

    page = open_monitor(desk_of("System Manager"))

    row = cause_row(page, "the far side is away")
    assert row.count() == 1, "the same error of several jobs is one row"
    assert "5" in row.locator(".jm-count").text_content()
    for organization in (ours, other):
        cells = ledger_row(page, organization).locator("td").all_text_contents()
        assert (cells[1], cells[2]) == ("7", "1")
        assert cells[4] in ("1.9 s", "2.4 s", "2.5 s"), "p95 of waits of 2 s, as far as its bucket tells"
    for chart in ("throughput", "priorities", "seconds"):
        assert page.locator(f"[data-chart={chart}] svg").count() == 1
    assert page.locator("tr[data-type='test.effect'] .jm-rate").count() == 1


def test_every_priority_is_spelled_out_however_narrow_the_page(managers_desk: Desk):
    page = open_monitor(managers_desk)
    labels = page.locator("[data-chart=priorities] .x.axis text")
    whole = ["Critical", "High", "Normal", "Low"]
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            "() => Math.abs(document.querySelector('[data-chart=priorities] svg').clientWidth"
            " - document.querySelector('[data-chart=priorities]').clientWidth) < 40"
        )
        assert labels.all_text_contents() == whole
        boxes = [label.bounding_box() for label in labels.all()]
        assert all(left["x"] + left["width"] < right["x"] for left, right in pairwise(boxes))


def test_a_manager_sees_nothing_of_another_organization(managers_desk: Desk, ours: str, other: str):
    dead_letters(ours, 2)
    dead_letters(other, 4, "RuntimeError: a secret of others")
    people.job(other, status="Running", started_at=frappe.utils.now_datetime(), lease_owner="elsewhere", progress=5)
    count(ours, "Completed", 3)
    count(other, "Completed", 11)
    frappe.db.sql(
        "INSERT INTO `__job_engine_control` (scope, target, paused_at, paused_by, reason) VALUES (%s, %s, %s, %s, %s)",
        ("organization", other, frappe.utils.now_datetime(), "Administrator", "theirs alone"),
    )
    frappe.db.commit()
    heard: list[str] = []

    def hear(response: Any) -> None:
        if "/api/" in response.url:
            heard.append(response.text())

    managers_desk.page.on("response", hear)
    page = open_monitor(managers_desk)
    page.locator("[data-span='7d']").click()
    managers_desk.until("document.querySelector('.job-monitor[data-span=\"7d\"]')")

    assert ledger_row(page, ours).locator("td").nth(1).text_content() == "3"
    assert page.locator("tr[data-organization]").count() == 1
    said = page.content() + "".join(heard)
    for theirs in (other, "a secret of others", "theirs alone", "elsewhere"):
        assert theirs not in said
    assert any('"span"' in text for text in heard), "no answer of the monitor was looked at"


def test_a_user_who_manages_nothing_is_not_let_in(desk_of: Callable[[str], Desk]):
    desk = desk_of("Job User")
    page = desk.page
    page.evaluate("() => frappe.set_route('job-monitor')")
    desk.until("/not permitted|permission/i.test(document.body.innerText)")

    assert page.locator(".job-monitor").count() == 0
    answer = page.request.get(f"{page.url.partition('/app')[0]}/api/method/job_engine.api.desk.monitor.read")
    assert answer.status == 403


def test_a_manager_cannot_ask_for_another_organization(managers_desk: Desk, other: str):
    page = open_monitor(managers_desk)

    status = page.evaluate(
        "async (organization) => (await job_engine.ask('desk.monitor.read', {organization})).status", other
    )

    assert status == 403


def test_whatever_people_and_handlers_wrote_is_text(desk_of: Callable[[str], Desk], ours: str):
    dead_letters(ours, 1, f"ValueError: {PAYLOAD}")
    running = people.job(
        ours, "test.effect", "Running", started_at=frappe.utils.now_datetime(), lease_owner="w-of-a-test", attempts=1,
        progress=40, progress_message=PAYLOAD, lease_expires_at=frappe.utils.add_to_date(None, hours=1, as_datetime=True),
    )  # fmt: skip
    frappe.db.commit()
    desk = desk_of("System Manager")
    page = open_monitor(desk)
    page.evaluate(
        "(reason) => job_engine.call('pause', {scope: 'organization', target: reason[0], reason: reason[1]})",
        [ours, PAYLOAD],
    )
    open_monitor(desk)

    assert page.locator(".jm-pause", has_text="onerror").count() == 1
    assert page.locator(f".jm-job:has(a[href$='{running}'])", has_text="onerror").count() == 1
    cause_row(page, "ValueError").locator("[data-do=retry]").click()
    page.locator(".jm-preview .jm-error").wait_for()
    assert page.locator(".job-monitor img, .job-monitor script, .jm-preview img").count() == 0


# Live ------------------------------------------------------------------------------------------------------------------------


def test_a_change_is_seen_without_a_reload(managers_desk: Desk, ours: str):
    page = open_monitor(managers_desk)
    loads: list[str] = []
    page.on("framenavigated", lambda frame: loads.append(frame.url))
    page.evaluate(
        "() => clearInterval(document.querySelector('#page-job-monitor').monitor.timer)"
    )  # only events are left
    before = page.locator("[data-tile=waiting] .jm-value").text_content()

    engine().enqueue("test.noop", {"i": 1}, organization=ours, run_after=86_400.0)
    frappe.db.commit()

    managers_desk.until(f"document.querySelector('[data-tile=waiting] .jm-value').textContent !== {json.dumps(before)}")
    assert page.locator("[data-tile=waiting] .jm-value").text_content() == str(int(before) + 1)
    assert loads == []


def test_the_range_is_chosen_with_the_keyboard_and_remembered(managers_desk: Desk, ours: str):
    page = open_monitor(managers_desk)
    page.locator("[data-span='1h']").focus()
    page.keyboard.press("Enter")
    managers_desk.until("document.querySelector('.job-monitor[data-span=\"1h\"]')")
    assert page.locator("[data-span='1h'][aria-pressed=true]").count() == 1

    managers_desk.load("job-monitor")

    managers_desk.until("document.querySelector('.job-monitor[data-state=ready][data-span=\"1h\"]')")
    page.evaluate("() => localStorage.removeItem('job_monitor_span')")


# Steering --------------------------------------------------------------------------------------------------------------------


def test_all_dead_letters_of_a_cause_are_retried_after_a_preview(managers_desk: Desk, ours: str, other: str):
    mine, theirs = dead_letters(ours, 25), dead_letters(other, 2)
    page = open_monitor(managers_desk)

    cause_row(page, "the far side is away").locator("[data-do=retry]").click()
    preview = page.locator(".jm-preview")
    preview.wait_for()
    assert ours in preview.text_content() and "25" in preview.text_content()
    page.locator(".modal.show select[data-fieldname=spread]").select_option("3600")
    page.locator(".modal.show .btn-modal-primary").click()
    managers_desk.until("!document.querySelector('tr[data-cause]')")

    frappe.db.rollback()
    statuses = frappe.get_all("Background Job", {"name": ["in", mine]}, pluck="status")
    assert len(statuses) == 25 and "Dead Letter" not in statuses
    assert set(frappe.get_all("Background Job", {"name": ["in", theirs]}, pluck="status")) == {"Dead Letter"}


def test_a_manager_pauses_and_resumes_the_own_organization(managers_desk: Desk, ours: str):
    count(ours, "Completed")
    page = open_monitor(managers_desk)

    ledger_row(page, ours).locator("[data-do=pause]").click()
    page.locator(".modal.show textarea[data-fieldname=reason]").fill("stocktaking")
    page.locator(".modal.show .btn-modal-primary").click()
    page.locator(".jm-pause", has_text="stocktaking").wait_for()
    frappe.db.rollback()
    assert engine().store.controls().pauses["organization", ours].reason == "stocktaking"

    page.locator(".jm-pause [data-do=resume]").click()
    page.locator(".jm-pause").wait_for(state="detached")
    frappe.db.rollback()
    assert ("organization", ours) not in engine().store.controls().pauses


# Looks -----------------------------------------------------------------------------------------------------------------------


def test_it_fits_a_phone_and_the_dark(desk_of: Callable[[str], Desk], ours: str):
    dead_letters(ours, 2, "RuntimeError: " + "a-very-long-word-" * 10)
    count(ours, "Completed", 3)
    desk = desk_of("System Manager")
    desk.page.set_viewport_size({"width": 390, "height": 844})
    page = open_monitor(desk)

    assert page.evaluate("() => document.querySelector('.job-monitor').scrollWidth <= window.innerWidth")
    page.evaluate("() => document.documentElement.setAttribute('data-theme', 'dark')")
    colors = page.evaluate(
        """() => [...document.querySelectorAll('.jm-value, .jm-title, .jm-table td, .jm-table th, .jm-panel h2')].map((el) => {
            const channels = (text) => text.match(/[\\d.]+/g).map(Number);
            const panel = el.closest('.jm-tile, .jm-panel');
            const light = ([r, g, b]) => (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
            return light(channels(getComputedStyle(el).color)) - light(channels(getComputedStyle(panel).backgroundColor));
        })"""
    )
    page.evaluate("() => document.documentElement.setAttribute('data-theme', 'light')")
    page.set_viewport_size({"width": 1400, "height": 900})
    assert len(colors) > 20 and min(colors) > 0.25, "text is hardly lighter than what is behind it"


# Cheap -----------------------------------------------------------------------------------------------------------------------


def test_many_ended_jobs_cost_it_nothing(ours: str, as_user: Callable[[str], None], monkeypatch: pytest.MonkeyPatch):
    """Rows that the database touches for one refresh, without and with many ended jobs: as many."""
    if frappe.db.db_type != "mariadb":
        pytest.skip("rows are counted as MariaDB counts them")
    dead_letters(ours, 5)
    manager = people.user("Job Manager", organizations=(ours,))
    before = {user: _touched(user, monkeypatch) for user in ("Administrator", manager)}
    _fill(ours)

    after = {user: _touched(user, monkeypatch) for user in before}

    for user, (rows, statements) in after.items():
        assert rows - before[user][0] < 200, f"{user}: {rows} rows are read, and {before[user][0]} of the empty table"
        assert statements < 15
    as_user("Administrator")


def _fill(organization: str) -> None:
    """In this test's own transaction, which is rolled back."""
    frappe.db.sql(
        f"""INSERT INTO `tabBackground Job` (name, creation, modified, job_type, status, priority, queue, organization, params,
                run_after, attempts, max_attempts, job_hash, lane, ended_at)
            SELECT CONCAT('filler', seq), NOW(), NOW(), 'test.noop', 'Completed', 'Normal', 'default', %s, '{{}}', NOW(), 1, 5,
                CONCAT('h', seq), CONCAT('2|default|', %s, '|test.noop'), NOW() FROM seq_1_to_{FILLER}""",
        (organization, organization),
    )


def _touched(user: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    statements = 0
    execute = Session.execute

    def counted(self: Session, template: str, params: Sequence[Any] = ()) -> Any:
        nonlocal statements
        statements += 1
        return execute(self, template, params)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "execute", counted)
        monitor.read(engine(), user, "7d")  # what is cached is cached now
        statements, before = 0, _handler_reads()
        monitor.read(engine(), user, "7d")
        return _handler_reads() - before, statements


def _handler_reads() -> int:
    return sum(int(value) for _, value in frappe.db.sql("SHOW SESSION STATUS LIKE 'Handler_read%'"))
