"""The tick and the housekeeping that Frappe's scheduler calls."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta

import frappe
import pytest

from job_engine.core.states import Status
from job_engine.site import job_types, scheduler, wakeups
from job_engine.site.engines import RunnersEngine
from job_engine.tests.site import people
from job_engine.tests.site.running import QUEUE


@pytest.fixture
def runners() -> Iterator[RunnersEngine]:
    runners = RunnersEngine.for_runners(alone=False)
    yield runners
    runners.close()


def make_due(*names: str) -> None:
    frappe.db.sql("UPDATE `tabBackground Job` SET run_after = creation - INTERVAL '1' HOUR WHERE name IN %s", (names,))
    frappe.db.commit()


def waiting_job(here) -> str:
    name = here.enqueue("test.noop", run_after=3600).name
    frappe.db.commit()
    return name


def test_the_tick_queues_what_is_due_and_wakes_a_runner(here):
    due, not_due = waiting_job(here), waiting_job(here)
    make_due(due)

    scheduler.tick()

    assert here.get(due).status is Status.QUEUED
    assert here.get(not_due).status is Status.PENDING
    assert (QUEUE, False) in here.woken


def test_the_tick_rescues_a_job_whose_runner_is_gone(here, runners):
    job = here.enqueue("test.noop")
    frappe.db.commit()
    assert [claimed.name for claimed in runners.store.claim_batch("gone", 1, (QUEUE,))] == [job.name]
    frappe.db.sql(
        "UPDATE `tabBackground Job` SET lease_expires_at = lease_expires_at - INTERVAL '1' DAY WHERE name = %s",
        job.name,
    )
    frappe.db.commit()

    scheduler.tick()

    assert here.get(job).status is Status.QUEUED
    assert here.get(job).lost == 1


@pytest.mark.parametrize("word", ["maintenance_mode", "pause_scheduler"])
def test_a_site_under_maintenance_has_no_tick(here, monkeypatch, word):
    due = waiting_job(here)
    make_due(due)
    conf = frappe.get_site_config()
    monkeypatch.setattr(frappe, "get_site_config", lambda *_, **__: frappe._dict(conf, **{word: 1}))

    scheduler.tick()

    monkeypatch.undo()
    frappe.local.conf = frappe._dict(conf)
    assert here.get(due).status is Status.PENDING


def test_a_site_whose_scheduler_is_off_has_no_tick(here):
    due = waiting_job(here)
    make_due(due)
    frappe.db.sql(
        "UPDATE `tabSingles` SET value = '0' WHERE doctype = 'System Settings' AND field = 'enable_scheduler'"
    )

    scheduler.tick()

    assert here.get(due).status is Status.PENDING


def test_one_duty_that_fails_does_not_keep_the_tick_from_the_others(here, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("as asked for")

    done = []
    monkeypatch.setattr(wakeups, "wake_waiting", fail)
    monkeypatch.setattr(job_types, "sync", lambda: done.append("sync"))
    due = waiting_job(here)
    make_due(due)

    with pytest.raises(RuntimeError, match="as asked for"):
        scheduler.tick()

    assert here.get(due).status is Status.QUEUED
    assert done == ["sync"]


def test_several_ticks_at_once_queue_each_job_once(here):
    names = [waiting_job(here) for _ in range(40)]
    make_due(*names)
    code = (
        f"import frappe; frappe.init(site={frappe.local.site!r}); frappe.connect();"
        " from job_engine.site import scheduler; scheduler.tick()"
    )

    ticks = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]

    assert [tick.wait(60) for tick in ticks] == [0, 0, 0]
    frappe.db.rollback()
    queued = frappe.db.sql(
        "SELECT job, COUNT(*) FROM `tabJob Execution Log` WHERE job IN %s AND to_status = 'Queued' GROUP BY job",
        (names,),
    )
    assert dict(queued) == dict.fromkeys(names, 1)


def test_job_types_that_have_not_changed_are_not_written(monkeypatch):
    job_types.sync()
    written = []
    monkeypatch.setattr(frappe.db, "set_value", lambda *args, **kwargs: written.append(args))

    job_types.sync()

    assert written == []


def test_housekeeping_forgets_what_log_settings_say(here):
    now = frappe.utils.now_datetime()
    old, young = (
        people.job(here.organization, status="Completed", ended_at=now - timedelta(days=days), queue=QUEUE)
        for days in (3000, 0)
    )
    people.log_entry(old)
    frappe.db.commit()

    scheduler.housekeeping()

    frappe.db.rollback()
    assert not frappe.db.exists("Background Job", old)
    assert not frappe.db.exists("Job Execution Log", {"job": old})
    assert frappe.db.exists("Background Job", young)
