"""A real site for each test: connected as Administrator, and rolled back at the end.

`eval "$(scripts/site env)"` says where the site is; the tests run in the bench's Python.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import frappe
import pytest

from job_engine.site import tenancy, wakeups
from job_engine.tests.site import bench_workers, people, running
from job_engine.tests.site.jobs import EFFECTS, make_effects_table


@pytest.fixture(scope="session")
def bench() -> Path:
    """The bench whose site the tests use."""
    folder, site = os.environ.get("JOB_ENGINE_SITE_BENCH"), os.environ.get("JOB_ENGINE_SITE")
    if folder and site:
        return Path(folder)
    message = 'No site: run `make site`, then `eval "$(scripts/site env)"`.'
    if os.environ.get("JOB_ENGINE_REQUIRE_SERVICES"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(scope="session")
def connected(bench: Path) -> Iterator[str]:
    """The site, connected for the whole session."""
    os.chdir(bench / "sites")  # Frappe finds its sites from here
    bench_workers.know_queue(bench)
    site = os.environ["JOB_ENGINE_SITE"]
    frappe.init(site=site)
    frappe.connect()
    yield site
    frappe.destroy()


@pytest.fixture(autouse=True)
def site(connected: str) -> Iterator[str]:
    """Administrator's session, in a transaction that is rolled back."""
    frappe.db.rollback()  # sees what was committed since the last test
    frappe.set_user("Administrator")
    tenancy.forget()
    yield connected
    frappe.set_user("Administrator")
    frappe.db.rollback()
    frappe.local.message_log = []
    frappe.local.role_permissions = {}


@pytest.fixture
def as_user() -> Callable[[str], None]:
    """Go on as another user."""

    def change(user: str) -> None:
        frappe.set_user(user)
        tenancy.forget()

    return change


@pytest.fixture
def acme() -> str:
    return people.organization("Acme")


@pytest.fixture
def globex() -> str:
    return people.organization("Globex")


@pytest.fixture
def made_users(connected: str) -> Iterator[list[str]]:
    """Users whom other processes see. They are deleted at the end."""
    users: list[str] = []
    yield users
    frappe.db.rollback()
    frappe.set_user("Administrator")
    people.forget_users(users)
    frappe.db.commit()


@pytest.fixture
def person(made_users: list[str]) -> Callable[..., str]:
    """Make a user whom other processes see. The first System User of a site becomes System Manager, so there is one before."""

    def make(*roles: str, organizations: tuple[str, ...] = ()) -> str:
        made_users.append(people.user(*roles, organizations=organizations))
        frappe.db.commit()
        return made_users[-1]

    make()
    return make


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, connected: str) -> Iterator[running.Bench]:
    """Jobs that run in this process, of an organization of their own. They are committed, and deleted at the end."""
    make_effects_table()
    frappe.db.sql(f"DELETE FROM `{EFFECTS}`")
    organization = people.organization("Here")
    frappe.db.commit()
    bench = running.Bench(organization)
    monkeypatch.setattr(wakeups, "check_queue", lambda queue: None)
    monkeypatch.setattr(
        wakeups, "wake", lambda queue, alone=False, even_if_pending=False: bench.woken.append((queue, alone)) or True
    )
    yield bench
    frappe.db.rollback()
    frappe.set_user("Administrator")
    frappe.get_doc("Job Engine Settings").update({"default_organization": None}).save()
    those = "SELECT name FROM `tabBackground Job` WHERE queue = %s"
    frappe.db.sql(f"DELETE FROM `tabJob Execution Log` WHERE job IN ({those})", running.QUEUE)
    frappe.db.sql("DELETE FROM `tabBackground Job` WHERE queue = %s", running.QUEUE)
    frappe.db.sql("DELETE FROM `tabOrganization` WHERE name = %s", bench.organization)
    frappe.db.commit()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, for those who look at pages. One for the whole session: playwright cannot be started twice."""
    missing = None
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing = "playwright is not installed in the bench's Python: env/bin/pip install playwright"
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        missing = "Chromium is not installed: apt-get install chromium"
    if missing:
        (pytest.fail if os.environ.get("JOB_ENGINE_REQUIRE_SERVICES") else pytest.skip)(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def workers(bench: Path, connected: str) -> Iterator[bench_workers.BenchWorkers]:
    """Real workers, and an organization whose jobs they run. All is deleted at the end."""
    make_effects_table()
    settings = frappe.get_doc("Job Engine Settings")
    before = {field: settings.get(field) for field in ("lease_seconds", "heartbeat_seconds", "grace_seconds")}
    settings.update({"lease_seconds": 10, "heartbeat_seconds": 1, "grace_seconds": 2}).save()
    organization = people.organization("Workers")
    frappe.db.commit()
    started = bench_workers.BenchWorkers(bench, organization)
    yield started
    started.stop()
    frappe.db.rollback()
    frappe.set_user("Administrator")
    frappe.get_doc("Job Engine Settings").update(before).save()
    those = "SELECT name FROM `tabBackground Job` WHERE organization = %s"
    frappe.db.sql(f"DELETE FROM `tabJob Execution Log` WHERE job IN ({those})", organization)
    frappe.db.sql("DELETE FROM `tabBackground Job` WHERE organization = %s", organization)
    frappe.db.sql("DELETE FROM `tabOrganization` WHERE name = %s", organization)
    frappe.db.commit()
