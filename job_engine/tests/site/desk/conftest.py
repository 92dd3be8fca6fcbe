"""Desk in a real browser: two organizations with jobs, and one user of each kind who is logged in."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import frappe
import pytest
from frappe.core.doctype.user.user import desk_properties
from frappe.desk.doctype.notification_settings.notification_settings import create_notification_settings
from frappe.utils.password import update_password

from job_engine.site import wakeups
from job_engine.tests.site import people, running
from job_engine.tests.site.desk.browsing import Desk
from job_engine.tests.site.jobs import make_effects_table

KINDS = ("System Manager", "Job Manager", "Job User")
SMUGGLED = '<img src=x onerror="window.pwned = true">'

# The list's sidebar, the bell and so on, as for a user who was made in Desk. Not what is beside and below a form, which shows
# users' names as HTML: Frappe cleans them when a user is saved, and here they are written past that.
SHOWN = {**dict.fromkeys(desk_properties, 1), "form_sidebar": 0, "timeline": 0}

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
    ours = people.organization('Acme" onmouseover="window.pwned = true" x="')
    other = people.organization("Initech-of-others")
    frappe.db.commit()
    yield ours, other
    frappe.db.rollback()
    frappe.set_user("Administrator")
    people.forget_jobs([ours, other])
    frappe.db.delete("Organization", {"name": ["in", [ours, other]]})
    frappe.db.commit()


def forget_everything() -> None:
    """For tests of pages that show the whole site: what others have left there is not theirs."""
    frappe.db.rollback()
    for table in (
        "tabBackground Job",
        "tabJob Execution Log",
        "__job_engine_stat",
        "__job_engine_dependency",
        "__job_engine_worker",
    ):
        frappe.db.sql(f"DELETE FROM `{table}`")
    frappe.db.commit()


@pytest.fixture
def ours(tenants: tuple[str, str]) -> Iterator[str]:
    """Our organization, without the jobs of the test before."""
    yield from without_its_jobs(tenants[0])


@pytest.fixture
def other(tenants: tuple[str, str]) -> Iterator[str]:
    yield from without_its_jobs(tenants[1])


def without_its_jobs(organization: str) -> Iterator[str]:
    """For one test, after which its jobs are gone."""
    yield organization
    frappe.db.rollback()
    people.forget_jobs([organization])
    frappe.db.commit()


@pytest.fixture(scope="session")
def desks(browser: Any, tenants: tuple[str, str]) -> Iterator[Callable[..., Desk]]:
    """Desk as a user of each kind sees it, opened when it is first asked for."""
    first = people.user()  # the first System User of a site is made System Manager by Frappe
    opened: dict[tuple[str, str], Desk] = {}

    def of(kind: str, language: str = "en") -> Desk:
        if (kind, language) not in opened:
            organizations = () if kind == "System Manager" else tenants[:1]
            opened[kind, language] = log_in(browser, kind, organizations, language)
        return opened[kind, language]

    yield of
    for desk in opened.values():
        desk.context.close()
    frappe.db.rollback()
    frappe.set_user("Administrator")
    people.forget_users([first, *(desk.user for desk in opened.values())])
    frappe.db.commit()


def log_in(browser: Any, kind: str, organizations: tuple[str, ...], language: str) -> Desk:
    frappe.set_user("Administrator")
    user, password = people.user(kind, organizations=organizations), secrets.token_hex(16)
    frappe.db.set_value("User", user, {"first_name": SMUGGLED, "full_name": SMUGGLED, "language": language, **SHOWN})
    create_notification_settings(user)  # Desk does not open without them
    update_password(user, password)
    frappe.db.commit()
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    url = f"{os.environ['JOB_ENGINE_SITE_URL']}/api/method/login"
    answer = context.request.post(url, form={"usr": user, "pwd": password})
    assert answer.ok, answer.text()
    return Desk(context, user, kind)


@pytest.fixture
def desk_of(desks: Callable[..., Desk], request: Any, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    used: dict[tuple[str, str], Desk] = {}

    def of(kind: str, language: str = "en") -> Desk:
        if (kind, language) not in used:
            used[kind, language] = desks(kind, language).begin()
        return used[kind, language]

    yield of
    if request.node.stash.get(FAILED, False):
        for (kind, language), desk in used.items():
            picture = tmp_path / f"{kind} {language}.png"
            desk.page.screenshot(path=picture)
            print(f"What the {kind} saw is in {picture}; errors of the page: {desk.errors}")
    for desk in used.values():
        desk.end()


@pytest.fixture(params=KINDS)
def desk(request: Any, desk_of: Callable[[str], Desk]) -> Desk:
    """The same for each of the three kinds."""
    return desk_of(request.param)


@pytest.fixture
def managers_desk(desk_of: Callable[[str], Desk]) -> Desk:
    return desk_of("Job Manager")


@pytest.fixture
def runner(ours: str, monkeypatch: pytest.MonkeyPatch) -> running.Bench:
    """Runs jobs of our organization in this process, one after the other, so that they have a past."""
    make_effects_table()
    frappe.db.commit()
    monkeypatch.setattr(wakeups, "check_queue", lambda queue: None)
    monkeypatch.setattr(wakeups, "wake", lambda *args, **kwargs: True)
    return running.Bench(ours)
