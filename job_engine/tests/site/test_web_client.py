"""examples/web_client in a real browser, against the real site: progress moves without a reload."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import frappe
import pytest
from frappe.utils.password import update_password

from job_engine.tests.site import people
from job_engine.tests.site.bench_workers import BenchWorkers

ROOT = Path(__file__).parents[3]
QUEUED = "text('status') === 'Queued' && document.getElementById('job').dataset.connected === 'yes'"


@pytest.fixture
def page_url(bench: Path, tmp_path: Path) -> Iterator[str]:
    """The example as the site serves it, from a folder of its own beside the apps' assets."""
    folder = tmp_path / "web_client"
    shutil.copytree(ROOT / "examples" / "web_client", folder)
    client = bench / "apps" / "frappe" / "node_modules" / "socket.io-client" / "dist" / "socket.io.min.js"
    shutil.copy(client, folder)
    link = bench / "sites" / "assets" / f"job-engine-example-{secrets.token_hex(4)}"
    link.symlink_to(folder)
    port = os.environ["JOB_ENGINE_SITE_SOCKETIO_URL"].rpartition(":")[2]
    yield f"{os.environ['JOB_ENGINE_SITE_URL']}/assets/{link.name}/index.html?socketio_port={port}"
    link.unlink()


@pytest.fixture
def open_page(browser: Any, page_url: str, connected: str) -> Iterator[Callable[..., Any]]:
    """Open the page as somebody who has logged in."""
    users: list[str] = []
    contexts: list[Any] = []

    def opened(organization: str, job: str, on_line: Callable[[Any], None] | None = None) -> Any:
        user, password = people.user("Job User", organizations=(organization,)), secrets.token_hex(16)
        users.append(user)
        update_password(user, password)
        frappe.db.commit()
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        answer = page.request.post(
            f"{os.environ['JOB_ENGINE_SITE_URL']}/api/method/login", form={"usr": user, "pwd": password}
        )
        assert answer.ok, answer.text()
        if on_line is not None:
            page.route_web_socket(re.compile("/socket.io/"), on_line)
        page.goto(f"{page_url}&job={job}")
        return page

    users.append(people.user())  # the first System User of a site is made System Manager by Frappe
    yield opened
    for context in contexts:
        context.close()
    frappe.db.rollback()
    frappe.set_user("Administrator")
    people.forget_users(users)
    frappe.db.commit()


def wait_for(page: Any, condition: str, seconds: float = 20.0) -> None:
    page.wait_for_function(
        f"() => {{ const text = (id) => document.getElementById(id).textContent; return {condition}; }}",
        timeout=seconds * 1000,
    )


def test_progress_moves_without_a_reload_and_the_end_is_shown(workers: BenchWorkers, open_page: Any):
    job = workers.enqueue("test.sleep", {"seconds": 3.0, "steps": 10})
    page = open_page(workers.organization, job.name)
    loads: list[str] = []
    page.on("framenavigated", lambda frame: loads.append(frame.url))
    wait_for(page, QUEUED)
    page.route("**/*get_job_status*", lambda route: route.abort())  # from here on, only the socket can bring it

    workers.start()

    wait_for(page, "text('status') === 'Running'")
    wait_for(page, "/^Step \\d+ of 10$/.test(text('message'))")
    first = page.locator("#progress").evaluate("bar => bar.value")
    wait_for(page, f"document.getElementById('progress').value > {first}")
    wait_for(page, "text('status') === 'Completed' && document.getElementById('progress').value === 100")
    assert loads == []


def test_what_happened_while_the_line_was_down_is_caught_up(workers: BenchWorkers, open_page: Any):
    job = workers.enqueue("test.sleep", {"seconds": 0.5, "steps": 2})
    lines: list[Any] = []

    def let_through(line: Any) -> None:
        line.connect_to_server()
        lines.append(line)

    page = open_page(workers.organization, job.name, let_through)
    wait_for(page, QUEUED)
    while not lines:  # it begins with plain requests and goes over to a WebSocket
        page.wait_for_timeout(50)

    page.route("**/socket.io/**", lambda route: route.abort())
    page.route("**/*get_job_status*", lambda route: route.abort())
    lines[-1].close()
    # Where the change to a WebSocket was not complete yet, the silence is noticed by the missing heartbeat: 45 s.
    wait_for(page, "document.getElementById('job').dataset.connected === 'no'", 70)
    workers.start()
    workers.wait_for(job)
    assert page.locator("#status").text_content() == "Queued"
    page.unroute("**/*get_job_status*")
    page.unroute("**/socket.io/**")

    wait_for(page, "text('status') === 'Completed' && document.getElementById('job').dataset.connected === 'yes'")


def test_somebody_of_another_organization_sees_a_refusal_and_nothing_of_the_job(workers: BenchWorkers, open_page: Any):
    other = people.organization("Other")
    frappe.db.commit()
    job = workers.enqueue("test.sleep", {"seconds": 0.5, "steps": 2})
    page = open_page(other, job.name)
    wait_for(page, "!document.getElementById('error').hidden")

    workers.start()
    workers.wait_for(job)

    assert page.locator("#status").text_content() == ""
    assert "test.sleep" not in page.content()
    frappe.db.delete("Organization", {"name": other})
    frappe.db.commit()
