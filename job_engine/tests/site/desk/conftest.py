"""Desk in a real browser: two organizations with jobs, and one user of each kind who is logged in."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import frappe
import pytest
from frappe.desk.doctype.notification_settings.notification_settings import create_notification_settings
from frappe.utils.password import update_password

from job_engine.tests.site import people
from job_engine.tests.site.desk.browsing import Desk

KINDS = ("System Manager", "Job Manager", "Job User")


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Lets a fixture know whether its test failed: then it keeps a picture of the page."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def tenants(connected: str) -> Iterator[tuple[str, str]]:
    """Ours, and one whose data must never be seen by its users."""
    frappe.set_user("Administrator")
    # A name that would end an attribute, where somebody forgot to escape it.
    ours = people.organization('Acme" onmouseover="window.pwned = 1" x="')
    other = people.organization("Initech-of-others")
    frappe.db.commit()
    yield ours, other
    frappe.db.rollback()
    frappe.set_user("Administrator")
    for organization in (ours, other):
        forget_jobs(organization)
        frappe.db.delete("Organization", {"name": organization})
    frappe.db.commit()


def forget_jobs(organization: str) -> None:
    those = "SELECT name FROM `tabBackground Job` WHERE organization = %s"
    frappe.db.sql(f"DELETE FROM `tabJob Execution Log` WHERE job IN ({those})", organization)
    frappe.db.sql("DELETE FROM `tabBackground Job` WHERE organization = %s", organization)


@pytest.fixture
def ours(tenants: tuple[str, str]) -> Iterator[str]:
    """Our organization, without the jobs of the test before."""
    yield tenants[0]
    frappe.db.rollback()
    forget_jobs(tenants[0])
    frappe.db.commit()


@pytest.fixture
def other(tenants: tuple[str, str]) -> Iterator[str]:
    yield tenants[1]
    frappe.db.rollback()
    forget_jobs(tenants[1])
    frappe.db.commit()


@pytest.fixture(scope="session")
def logged_in(browser: Any, tenants: tuple[str, str]) -> Iterator[dict[str, Any]]:
    """A browser's context for each kind of user."""
    people.user()  # the first System User of a site is made System Manager by Frappe
    contexts: dict[str, Any] = {}
    users = {}
    for kind in KINDS:
        users[kind] = people.user(kind, organizations=() if kind == "System Manager" else tenants[:1])
        frappe.db.set_value("User", users[kind], "first_name", '<img src=x onerror="window.pwned = 1">')
        create_notification_settings(users[kind])  # Desk does not open without them
        password = secrets.token_hex(16)
        update_password(users[kind], password)
        frappe.db.commit()
        contexts[kind] = browser.new_context(viewport={"width": 1400, "height": 900})
        contexts[kind].grant_permissions(["clipboard-read", "clipboard-write"])
        answer = contexts[kind].request.post(
            f"{os.environ['JOB_ENGINE_SITE_URL']}/api/method/login", form={"usr": users[kind], "pwd": password}
        )
        assert answer.ok, answer.text()
    contexts["users"] = users
    yield contexts
    for kind in KINDS:
        contexts[kind].close()
    frappe.db.rollback()
    frappe.set_user("Administrator")
    for doctype, column in (
        ("User Permission", "user"),
        ("Has Role", "parent"),
        ("Notification Settings", "name"),
        ("User", "name"),
    ):
        frappe.db.delete(doctype, {column: ["in", list(users.values())]})
    frappe.db.sql("DELETE FROM `__Auth` WHERE doctype = 'User' AND name IN %(users)s", {"users": list(users.values())})
    frappe.db.commit()


@pytest.fixture
def desk_of(logged_in: dict[str, Any], request: Any, tmp_path: Path) -> Iterator[Callable[[str], Desk]]:
    """Desk as a user of one kind sees it."""
    opened: list[Desk] = []

    def of(kind: str) -> Desk:
        opened.append(Desk(logged_in[kind], logged_in["users"][kind]))
        return opened[-1]

    yield of
    if request.node.stash.get(FAILED, False):
        for i, desk in enumerate(opened):
            desk.page.screenshot(path=tmp_path / f"desk-{i}.png")
            print(f"The page is shown in {tmp_path}/desk-{i}.png; errors of the page: {desk.errors}")
    for desk in opened:
        desk.close()


@pytest.fixture(params=KINDS)
def desk(request: Any, desk_of: Callable[[str], Desk]) -> Desk:
    """The same for each of the three kinds."""
    return desk_of(request.param)


@pytest.fixture
def managers_desk(desk_of: Callable[[str], Desk]) -> Desk:
    return desk_of("Job Manager")
