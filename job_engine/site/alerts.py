"""Somebody is told when jobs end in Dead Letter: a message for each recipient and organization, however many jobs there are.

A job's user hears of their own jobs, the organization's Job Managers and those named in Job Engine Settings of all of them.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import frappe

from job_engine.site import alert_text, engine, marks, permissions, settings, tenancy
from job_engine.site.language import language_of

log = logging.getLogger("job_engine.alerts")

READER, SENT = "alerts", "alerts sent"
QUIET = timedelta(seconds=10)  # without another one: then those that fail together are in one message
LONGEST_WAIT = timedelta(minutes=2)  # for quiet
GAP = timedelta(minutes=5)  # between two messages
MANAGER = "Job Manager"
SAVEPOINT = "job_engine_alert"


def send_due() -> int:
    """Alert about what entered Dead Letter since the last alert, and commit that. Called by the tick; any number may at once.

    Returns how many messages were written.
    """
    store = engine().store
    now = store.dialect.local(store.now())
    mark = marks.take(READER, now)
    if mark is None:
        return 0
    jobs, moved = marks.dead_letters_since(mark, store, "job_type, organization, `user`, last_error, reason")
    sent = 0
    if not jobs or _is_time(jobs, now):
        marks.move(READER, moved)
        sent = sum(_send(of, about) for of, about in _by(jobs, "organization").items())
        if sent:
            marks.take(SENT, now)
            marks.move(SENT, now)
    frappe.db.commit()
    return sent


def _is_time(jobs: Sequence[Any], now: Any) -> bool:
    """Not in the middle of a storm, and not again at once."""
    sent = marks.read(SENT)
    if sent is not None and now - sent < GAP:
        return False
    return now - jobs[-1].ended_at > QUIET or now - jobs[0].ended_at > LONGEST_WAIT


def _send(organization: str, jobs: Sequence[Any]) -> int:
    sent = 0
    for user, may_hear in _recipients(organization, jobs).items():
        about = [job for job in jobs if may_hear(job)]
        if about:
            sent += _notify(user, organization, about)
    return sent


def _recipients(organization: str, jobs: Sequence[Any]) -> dict[str, Callable[[Any], bool]]:
    """Who is told, and of which of the jobs. The last rule that names somebody is the widest."""
    told: dict[str, Callable[[Any], bool]] = {}
    for user in {job.user for job in jobs if job.user}:
        told[user] = lambda job, user=user: job.user == user and _may_see(user, job)
    for user in _users_with_role(MANAGER):
        if tenancy.may_act_for(user, organization):
            told[user] = lambda job, user=user: _may_see(user, job)
    for user in _named_recipients():
        told[user] = lambda job: True
    enabled = _enabled(told)
    return {user: may_hear for user, may_hear in told.items() if user in enabled}


def _may_see(user: str, job: Any) -> bool:
    """As in the list. Who has lost the permission of the organization does not hear of it by an alert either."""
    return tenancy.may_act_for(user, job.organization) and (
        tenancy.sees_everything(user) or job.job_type not in permissions.hidden_types(user)
    )


def _users_with_role(role: str) -> list[str]:
    return frappe.get_all("Has Role", {"role": role, "parenttype": "User"}, pluck="parent")


def _named_recipients() -> list[str]:
    return frappe.get_all(
        "Job Alert Recipient", {"parenttype": settings.DOCTYPE, "parent": settings.DOCTYPE}, pluck="user"
    )


def _enabled(users: Any) -> set[str]:
    found = frappe.get_all("User", {"name": ["in", [*users, ""]], "enabled": 1}, pluck="name")
    return set(found) - {"Guest"}


def _notify(user: str, organization: str, jobs: Sequence[Any]) -> int:
    """One message. Where one cannot be written, the others still are."""
    frappe.db.savepoint(SAVEPOINT)
    try:
        with language_of(user):
            text = alert_text.write(organization, jobs)
        frappe.get_doc(
            doctype="Notification Log",
            type="Alert",
            for_user=user,
            from_user="Administrator",
            subject=text.subject,
            email_content=text.body,
            document_type="Background Job",
            document_name=jobs[0].name if len(jobs) == 1 else None,
            link=text.link,
        ).insert(ignore_permissions=True)
    except Exception:
        frappe.db.rollback(save_point=SAVEPOINT)
        frappe.log_error("Job Engine: an alert could not be written")
        return 0
    if settings.read().alert_by_email:
        _mail(user, text)
    return 1


def _mail(user: str, text: alert_text.AlertText) -> None:
    """A site without an outgoing account must not lose its notifications for it."""
    frappe.db.savepoint(SAVEPOINT)
    try:
        address = frappe.db.get_value("User", user, "email")
        frappe.sendmail(recipients=[address], subject=text.plain_subject, message=text.mail)
    except Exception:
        frappe.db.rollback(save_point=SAVEPOINT)
        frappe.clear_last_message()
        log.warning("An alert could not be sent by e-mail to %s", user, exc_info=True, extra={"action": "mail_failed"})


def _by(rows: Sequence[Any], field: str) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        groups[row[field]].append(row)
    return groups
