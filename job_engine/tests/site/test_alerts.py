"""Alerts: who is told of dead letters, of which, how often, and in which words."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import frappe
import pytest

from job_engine.site import alerts, engine, marks
from job_engine.site import settings as site_settings
from job_engine.tests.site import people

AGO = timedelta(seconds=60)


@pytest.fixture(autouse=True)
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is due, nothing was sent lately, and nothing that the test does is committed."""
    now = site_now()
    for reader, at in ((alerts.READER, now - timedelta(minutes=10)), (alerts.SENT, now - timedelta(hours=1))):
        marks.take(reader, at)
        marks.move(reader, at)
    frappe.db.sql("UPDATE `tabBackground Job` SET ended_at = '2001-01-01' WHERE status = 'Dead Letter'")
    monkeypatch.setattr(frappe.db, "commit", lambda: None)
    yield


def _commit() -> None:
    """What the fixture keeps everybody else from."""
    type(frappe.local.db).commit(frappe.local.db)


def site_now() -> Any:
    store = engine().store
    return store.dialect.local(store.now())


def dead_letter(organization: str, user: str = "Administrator", ago: timedelta = AGO, **columns: Any) -> str:
    values = {"last_error": "ValueError: Invoice 12 not found", "ended_at": site_now() - ago, **columns}
    return people.job(organization, status="Dead Letter", user=user, **values)


def told(user: str) -> list[Any]:
    fields = ["subject", "email_content", "link", "document_type", "document_name", "type"]
    return frappe.get_all("Notification Log", {"for_user": user}, fields, order_by="creation")


def test_a_thousand_dead_letters_make_one_message(acme: str):
    manager = people.user("Job Manager", organizations=(acme,))
    for i in range(1_000):
        dead_letter(acme, job_type="import" if i % 2 else "export", last_error=f"ValueError: Invoice {i} not found")

    alerts.send_due()

    (message,) = told(manager)
    assert message.subject == f"1,000 jobs of {acme} have failed for good and need a person."
    assert "500 &times; import" in message.email_content
    assert "500 &times; export" in message.email_content
    assert "1,000 &times; ValueError: Invoice 0 not found" in message.email_content, "they differ in a number only"
    assert "status=Dead+Letter" in message.link
    assert message.type == "Alert"


def test_one_dead_letter_leads_to_the_job(acme: str):
    manager = people.user("Job Manager", organizations=(acme,))
    job = dead_letter(acme, job_type="import")

    alerts.send_due()

    (message,) = told(manager)
    assert message.subject == f"A job of type import of {acme} has failed for good and needs a person."
    assert (message.document_type, message.document_name) == ("Background Job", job)
    assert message.link.endswith(f"/app/background-job/{job}")


def test_each_reads_it_in_their_own_language(acme: str):
    english, german = (people.user("Job Manager", organizations=(acme,)) for _ in range(2))
    frappe.db.set_value("User", german, "language", "de")
    dead_letter(acme, job_type="import", last_error="KeyError: as it was")

    alerts.send_due()

    assert told(english)[0].subject == f"A job of type import of {acme} has failed for good and needs a person."
    (message,) = told(german)
    assert message.subject.startswith(f"Ein Job vom Typ import von {acme} ist endgültig gescheitert")
    assert "Nach Ursache" in message.email_content
    assert "KeyError: as it was" in message.email_content, "what was stored stays as it was written"
    assert frappe.local.lang == "en", "nobody else is spoken to in German"


def test_each_is_told_once(acme: str):
    manager = people.user("Job Manager", organizations=(acme,))
    dead_letter(acme)

    assert alerts.send_due() >= 1
    assert alerts.send_due() == 0
    assert len(told(manager)) == 1


def test_a_user_hears_of_their_own_jobs_only(acme: str):
    mine, theirs = (people.user("Job User", organizations=(acme,)) for _ in range(2))
    dead_letter(acme, user=mine, last_error="KeyError: mine")
    dead_letter(acme, user=theirs, last_error="KeyError: theirs")

    alerts.send_due()

    (message,) = told(mine)
    assert "KeyError: mine" in message.email_content
    assert "theirs" not in message.email_content


def test_managers_of_another_organization_hear_nothing(acme: str, globex: str):
    other, former = people.user("Job Manager", organizations=(globex,)), people.user("Job Manager")
    user = people.user("Job User", organizations=(acme,))
    dead_letter(acme, user=user)

    alerts.send_due()

    assert told(other) == told(former) == []
    assert len(told(user)) == 1


def test_a_manager_of_two_gets_a_message_for_each(acme: str, globex: str):
    manager = people.user("Job Manager", organizations=(acme, globex))
    dead_letter(acme)
    dead_letter(globex)

    alerts.send_due()

    assert len(told(manager)) == 2
    assert [acme in message.subject for message in told(manager)].count(True) == 1


def test_a_user_who_lost_the_permission_or_is_disabled_hears_nothing(acme: str):
    lost = people.user("Job User")
    disabled = people.user("Job Manager", organizations=(acme,))
    frappe.db.set_value("User", disabled, "enabled", 0)
    dead_letter(acme, user=lost)
    dead_letter(acme, user=disabled)

    alerts.send_due()

    assert told(lost) == told(disabled) == []


def test_who_is_named_in_the_settings_hears_of_all(acme: str, globex: str):
    named = people.user()
    settings = frappe.get_doc("Job Engine Settings")
    settings.append("alert_recipients", {"user": named})
    settings.save()
    dead_letter(acme)
    dead_letter(globex)

    alerts.send_due()

    assert len(told(named)) == 2


def test_a_type_that_only_some_roles_may_see_is_not_told_to_others(acme: str):
    role = frappe.get_doc(doctype="Role", role_name=f"Payroll {frappe.generate_hash(length=6)}").insert().name
    frappe.get_doc(doctype="Job Type", type_name="payroll_alert", handler="app.pay", roles=[{"role": role}]).insert()
    without, with_role = (people.user("Job Manager", *more, organizations=(acme,)) for more in ((), (role,)))
    dead_letter(acme, job_type="payroll_alert")

    alerts.send_due()

    assert told(without) == []
    assert len(told(with_role)) == 1


def test_what_others_wrote_is_escaped_and_secrets_are_masked():
    organization = people.organization('"Bold" & Sons')
    manager = people.user("Job Manager", organizations=(organization,))
    dead_letter(
        organization,
        job_type="<img src=x onerror=alert(1)>",
        last_error="HTTPError: <script>alert(2)</script> at https://user:hunter2@example.com/?api_key=abcdef123",
    )

    alerts.send_due()

    (message,) = told(manager)
    text = message.subject + message.email_content
    assert "&quot;Bold&quot; &amp; Sons" in message.subject
    assert "<img" not in text
    assert "<script" not in text
    assert "hunter2" not in text
    assert "abcdef123" not in text
    assert "HTTPError" in text


def test_in_the_middle_of_a_storm_it_waits_for_the_end(acme: str):
    manager = people.user("Job Manager", organizations=(acme,))
    dead_letter(acme, ago=timedelta(seconds=30))
    dead_letter(acme, ago=timedelta(seconds=7))  # another one just now

    alerts.send_due()

    assert told(manager) == []


def test_but_not_for_long(acme: str):
    manager = people.user("Job Manager", organizations=(acme,))
    dead_letter(acme, ago=timedelta(seconds=130))
    dead_letter(acme, ago=timedelta(seconds=7))

    alerts.send_due()

    assert len(told(manager)) == 1


def test_a_message_is_not_followed_by_another_at_once(acme: str):
    manager = people.user("Job Manager", organizations=(acme,))
    dead_letter(acme)
    marks.move(alerts.SENT, site_now() - timedelta(minutes=4))
    alerts.send_due()
    assert told(manager) == []

    marks.move(alerts.SENT, site_now() - timedelta(minutes=6))
    alerts.send_due()

    assert len(told(manager)) == 1


def test_it_is_sent_by_mail_too_where_that_is_wanted(acme: str, monkeypatch: pytest.MonkeyPatch):
    manager = people.user("Job Manager", organizations=(acme,))
    mails: list[dict[str, Any]] = []
    monkeypatch.setattr(frappe, "sendmail", lambda **mail: mails.append(mail))
    dead_letter(acme, last_error="KeyError: x")
    wanted = dataclasses.replace(site_settings.read(), alert_by_email=True)
    monkeypatch.setattr(site_settings, "read", lambda: wanted)

    alerts.send_due()

    (mail,) = [mail for mail in mails if mail["recipients"] == [manager]]
    assert mail["subject"].startswith("A job of type")
    assert "KeyError: x" in mail["message"]


def test_a_site_that_cannot_send_mail_still_notifies(acme: str, monkeypatch: pytest.MonkeyPatch):
    manager = people.user("Job Manager", organizations=(acme,))

    def fails(**_: Any) -> None:
        raise frappe.OutgoingEmailError("no account")

    monkeypatch.setattr(frappe, "sendmail", fails)
    wanted = dataclasses.replace(site_settings.read(), alert_by_email=True)
    monkeypatch.setattr(site_settings, "read", lambda: wanted)
    dead_letter(acme)

    alerts.send_due()

    assert len(told(manager)) == 1


def test_two_ticks_at_once_tell_once(acme: str, connected: str):
    """The mark is held by the first; the second leaves without waiting."""
    dead_letter(acme)
    _commit()
    marks.take(alerts.READER, site_now())
    sent: list[int] = []

    def other_tick() -> None:
        frappe.init(site=connected)
        frappe.connect()
        try:
            sent.append(alerts.send_due())
        finally:
            frappe.destroy()

    thread = threading.Thread(target=other_tick)
    thread.start()
    thread.join(30)

    assert sent == [0]
    frappe.db.sql("DELETE FROM `tabBackground Job` WHERE organization = %s", acme)
    frappe.db.sql("DELETE FROM `tabOrganization` WHERE name = %s", acme)
    _commit()
