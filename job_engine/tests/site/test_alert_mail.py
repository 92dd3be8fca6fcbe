"""The e-mail of an alert, as it arrives: real jobs on a real worker, Frappe's own queue of mail, and a mail server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from html import escape
from typing import Any
from urllib.parse import urlencode

import frappe
import pytest
from frappe.utils import get_url

from job_engine.site import alerts, engine, marks
from job_engine.tests.site import people
from job_engine.tests.site.bench_workers import QUEUE, BenchWorkers, wait_until
from job_engine.tests.site.smtp_sink import Received, SmtpSink

ACCOUNT, SENDER = "Job Engine tests", "alerts@example.com"


@pytest.fixture
def mail(connected: str) -> Iterator[SmtpSink]:
    """A site that sends mail, and to which nothing was told lately."""
    with SmtpSink() as sink:
        before = frappe.db.get_single_value("Job Engine Settings", "alert_by_email")
        frappe.get_doc(
            doctype="Email Account",
            email_account_name=ACCOUNT,
            email_id=SENDER,
            enable_outgoing=1,
            default_outgoing=1,
            no_smtp_authentication=1,
            smtp_server="127.0.0.1",
            smtp_port=sink.port,
        ).insert()
        frappe.get_doc("Job Engine Settings").update({"alert_by_email": 1}).save()
        now = _now()
        for reader, at in ((alerts.READER, now - timedelta(minutes=10)), (alerts.SENT, now - timedelta(hours=1))):
            marks.take(reader, at)
            marks.move(reader, at)
        frappe.db.sql("UPDATE `tabBackground Job` SET ended_at = '2001-01-01' WHERE status = 'Dead Letter'")
        frappe.db.commit()
        yield sink
        frappe.db.rollback()
        frappe.get_doc("Job Engine Settings").update({"alert_by_email": before}).save()
        queued = frappe.get_all("Email Queue", {"email_account": ACCOUNT}, pluck="name")
        frappe.db.delete("Email Queue Recipient", {"parent": ["in", [*queued, ""]]})
        frappe.db.delete("Email Queue", {"name": ["in", [*queued, ""]]})
        frappe.delete_doc("Email Account", ACCOUNT)
        frappe.db.commit()


@pytest.fixture
def elsewhere(connected: str) -> Iterator[str]:
    """Another organization."""
    name = people.organization("Elsewhere")
    frappe.db.commit()
    yield name
    frappe.db.sql("DELETE FROM `tabOrganization` WHERE name = %s", name)
    frappe.db.commit()


def _now() -> Any:
    store = engine().store
    return store.dialect.local(store.now())


def _alert(workers: BenchWorkers) -> None:
    """The jobs' end is long enough ago, and the tick comes."""
    frappe.db.sql(
        "UPDATE `tabBackground Job` SET ended_at = %s WHERE organization = %s",
        (_now() - timedelta(minutes=1), workers.organization),
    )
    assert alerts.send_due() > 0


def _deliver(sink: SmtpSink) -> list[Received]:
    """Let a worker empty the queue of mail, as the scheduler does every few minutes, and read what arrived."""
    queued = frappe.db.count("Email Queue", {"email_account": ACCOUNT})
    frappe.enqueue("frappe.email.queue.flush", queue=QUEUE)
    wait_until(
        lambda: frappe.db.count("Email Queue", {"email_account": ACCOUNT, "status": "Sent"}) == queued, 30, "the mail"
    )
    return sorted(sink.received, key=lambda mail: mail.recipients)


def test_many_dead_letters_arrive_as_one_mail_at_the_user_and_the_managers(
    workers: BenchWorkers, mail: SmtpSink, person: Callable[..., str], elsewhere: str
):
    user = person("Job User", organizations=(workers.organization,))
    managers = [person("Job Manager", organizations=(workers.organization,)) for _ in range(2)]
    person("Job User", organizations=(workers.organization,))
    person("Job Manager", organizations=(elsewhere,))
    workers.start()
    secret = "https://shop:hunter2@example.com/?api_key=abcdef123"
    jobs = [
        workers.enqueue("test.fail", {"error": "PermanentError", "message": f"Invoice {i}: {secret}"}, user=user)
        for i in range(20)
    ]
    for job in jobs:
        workers.wait_for(job, "Dead Letter")

    _alert(workers)
    arrived = _deliver(mail)

    assert [one.recipients for one in arrived] == sorted((name,) for name in (user, *managers))
    for one in arrived:
        assert one.sender == SENDER
        assert one.message["to"] == one.recipients[0], "nobody learns who else was told"
        assert one.message["subject"] == f"20 jobs of {workers.organization} have failed for good and need a person."
        text, html = one.text("plain"), one.text("html")
        assert "20 \u00d7 test.fail" in text
        assert "20 \u00d7 PermanentError: Invoice 0: https://shop:" in text
        for part in (text, html, one.message.as_string()):
            assert "hunter2" not in part
            assert "abcdef123" not in part
        link = get_url(
            "/app/background-job?" + urlencode({"status": "Dead Letter", "organization": workers.organization})
        )
        assert link in text
        assert f'href="{escape(link)}"' in html


def test_one_dead_letter_arrives_with_a_link_to_the_job(
    workers: BenchWorkers, mail: SmtpSink, person: Callable[..., str]
):
    user = person("Job User", organizations=(workers.organization,))
    workers.start()
    job = workers.enqueue("test.fail", {"error": "PermanentError", "message": "<script> & Söhne"}, user=user)
    workers.wait_for(job, "Dead Letter")

    _alert(workers)
    (one,) = _deliver(mail)

    assert one.recipients == (user,)
    assert (
        one.message["subject"]
        == f"A job of type test.fail of {workers.organization} has failed for good and needs a person."
    )
    assert "PermanentError: <script> & Söhne" in one.text("plain"), "as it was, to read"
    assert "PermanentError: &lt;script&gt; &amp; Söhne" in one.text("html"), "and not as HTML of its own"
    assert get_url(f"/app/background-job/{job.name}") in one.text("plain")
