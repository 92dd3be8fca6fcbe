"""The hook job_engine_events: what listeners hear, when, and what becomes of one that fails."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import frappe
import pytest

from job_engine import attempt as attempts
from job_engine.site import engine, events, marks
from job_engine.tests.site import people

PATH = "job_engine.tests.site.test_events.listen"
BROKEN = "job_engine.tests.site.test_events.fail"

heard: list[dict[str, Any]] = []


def listen(event: dict[str, Any]) -> None:
    heard.append({**event, "user": frappe.session.user})
    frappe.get_doc(doctype="ToDo", description=f"event {event['name']} {event['event']}").insert()


def fail(event: dict[str, Any]) -> None:
    frappe.get_doc(doctype="ToDo", description=f"broken {event['name']}").insert()
    raise RuntimeError("a listener's own error")


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    paths = [PATH]
    known = frappe.get_hooks
    monkeypatch.setattr(
        frappe, "get_hooks", lambda hook=None, *a, **k: paths if hook == events.HOOK else known(hook, *a, **k)
    )
    heard.clear()
    yield paths
    frappe.db.delete("ToDo", {"description": ["like", "event %"]})
    frappe.db.delete("Error Log", {"method": ["like", "Job Engine: %"]})
    frappe.db.commit()


def notes(of: str) -> list[str]:
    frappe.db.rollback()
    return frappe.get_all("ToDo", {"description": ["like", f"% {of}%"]}, pluck="description")


def test_a_listener_hears_what_became_of_jobs_and_what_it_writes_is_kept(here: Any, hooks: list[str]):
    done, failed = here.enqueue("test.noop"), here.enqueue("test.fail", {"error": "TransientError"}, run_after=None)

    here.run(2)

    by_job = {event["name"]: event for event in heard}
    assert by_job[done.name]["event"] == "completed"
    assert by_job[done.name]["job_type"] == "test.noop"
    assert by_job[done.name]["organization"] == here.organization
    assert by_job[failed.name]["event"] == "failed"
    assert by_job[failed.name]["error"] == "TransientError: as asked for"
    assert {event["user"] for event in heard} == {"Administrator"}
    assert notes(done.name) == [f"event {done.name} completed"]


def test_a_listener_that_fails_harms_neither_the_job_nor_the_others(here: Any, hooks: list[str]):
    hooks.insert(0, BROKEN)
    job = here.enqueue("test.effect", {"value": "x"})

    here.run()

    assert str(here.get(job).status) == "Completed"
    assert here.effects(job) == ["x"]
    assert notes(job.name) == [f"event {job.name} completed"], "and what the broken one wrote is undone"
    assert frappe.get_all("Error Log", {"method": f"Job Engine: {BROKEN} failed on an event"})


def test_without_a_hook_nothing_is_done(here: Any, hooks: list[str]):
    hooks.clear()
    here.enqueue("test.noop")

    here.run()
    assert events.tell_dead_letters() == 0

    assert heard == []


def test_a_dead_letter_is_told_once_by_the_tick_whoever_wrote_it(here: Any, hooks: list[str]):
    store = engine().store
    now = store.dialect.local(store.now())
    marks.take(events.READER, now)
    marks.move(events.READER, now - timedelta(minutes=1))
    name = people.job(
        here.organization,
        status="Dead Letter",
        queue="in_process",
        ended_at=now - timedelta(seconds=30),
        last_error="E: x",
    )
    frappe.db.commit()

    events.tell_dead_letters()
    events.tell_dead_letters()

    (event,) = [event for event in heard if event["name"] == name]
    assert (event["event"], event["status"], event["error"]) == ("dead_letter", "Dead Letter", "E: x")
    assert notes(name) == [f"event {name} dead_letter"]


def test_a_runner_leaves_dead_letters_to_the_tick(here: Any, hooks: list[str]):
    job = here.enqueue("test.fail", {"error": "PermanentError"})

    here.run()

    assert str(here.get(job).status) == "Dead Letter"
    assert [event for event in heard if event["name"] == job.name] == []


def test_nobody_is_told_while_a_handler_runs(here: Any, hooks: list[str], monkeypatch: pytest.MonkeyPatch):
    """A handler that commits has its finished neighbours committed; listeners must not write in its transaction."""
    running: list[bool] = []
    call = events.call
    monkeypatch.setattr(events, "call", lambda *a: running.append(attempts.current()[0] is not None) or call(*a))
    first, second = here.enqueue("test.noop"), here.enqueue("test.commits", {"then_raise": True}, max_attempts=1)

    here.run(2)

    assert {event["name"]: event["event"] for event in heard} == {first.name: "completed"}
    assert str(here.get(second).status) == "Dead Letter"
    assert running
    assert not any(running)
