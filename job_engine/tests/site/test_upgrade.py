"""Around `bench migrate`: what the new code cannot run is said, runners leave, and jobs go on afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import frappe
import pytest

from job_engine.core.states import Status
from job_engine.site import engine, upgrade
from job_engine.site.engines import RunnersEngine
from job_engine.tests.site import people
from job_engine.tests.site.bench_workers import wait_until
from job_engine.tests.site.running import QUEUE

EVERYTHING = ("everything", "")


@pytest.fixture
def runners() -> Iterator[RunnersEngine]:
    runners = RunnersEngine.for_runners()
    yield runners
    runners.resume(*EVERYTHING)
    runners.close()


def said_about(job_type: str) -> list[str]:
    return [line for line in upgrade.misfits(engine()) if job_type in line]


# What the new code cannot run -----------------------------------------------------------------------------------------------


def test_waiting_jobs_of_a_type_that_is_gone_are_reported(acme):
    for _ in range(3):
        people.job(acme, "gone_with_the_upgrade", "Queued")
    people.job(acme, "gone_with_the_upgrade", "Completed")

    (line,) = said_about("gone_with_the_upgrade")

    assert line.startswith("3 waiting jobs of type gone_with_the_upgrade have no handler any more")
    assert "job-engine list --type gone_with_the_upgrade" in line


def test_a_function_that_was_moved_is_reported(acme):
    people.job(acme, "some_app.moved.away", "Failed", handler="some_app.moved.away")

    (line,) = said_about("some_app.moved.away")

    assert "No module named 'some_app'" in line


def test_parameters_that_the_handler_no_longer_accepts_are_reported_once(acme):
    first = people.job(acme, "test.effect", "Pending", params='{"volume": 1}')
    people.job(acme, "test.effect", "Pending", params='{"volume": 2}')

    (line,) = [line for line in said_about("test.effect") if "volume" in line]

    assert "unexpected keyword argument 'volume'" in line
    assert first[:10] in line


def test_jobs_that_fit_are_not_mentioned(acme):
    people.job(acme, "test.snooze", "Queued")
    people.job(acme, "frappe.utils.now", "Queued", handler="frappe.utils.now")

    assert said_about("test.snooze") == said_about("frappe.utils.now") == []


# Runners leave, and come back -------------------------------------------------------------------------------------------------


def test_nothing_is_claimed_during_a_migration_and_jobs_go_on_afterwards(here, runners):
    job = here.enqueue("test.noop")
    frappe.db.commit()

    upgrade.pause(runners)
    assert here.run() == 0
    assert "bench migrate" in engine().explain(job.name)

    upgrade.after_migrate()
    assert here.run() == 1
    assert (QUEUE, False) in here.woken


def test_what_an_operator_has_paused_stays_paused(here, runners):
    runners.pause(*EVERYTHING, by="operator")

    upgrade.pause(runners)
    upgrade.after_migrate()

    assert runners.store.controls().pauses[EVERYTHING].by == "operator"


def test_a_job_that_will_not_end_is_named_and_not_waited_for_any_longer(here, runners, capsys):
    job = here.enqueue("test.noop")
    frappe.db.commit()
    (claimed,) = runners.store.claim_batch("a busy runner", 1, (QUEUE,))
    try:
        assert not upgrade.wait_for_runners(runners, 0.2)
        assert f"{job.name} (test.noop)" in capsys.readouterr().err
    finally:
        runners.store.release(claimed.name, "a busy runner", claimed.attempts)


def test_a_runner_on_a_bench_worker_finishes_its_job_before_the_migration_begins(connected, acme, runners):
    frappe.db.commit()
    job = engine().enqueue("test.sleep", {"seconds": 2}, organization=acme)
    frappe.db.commit()
    wait_until(lambda: engine().get(job.name).status is Status.RUNNING, what="a bench worker to take the job")

    upgrade.before_migrate()

    frappe.db.rollback()
    assert engine().get(job.name).status is Status.COMPLETED
    upgrade.after_migrate()
    assert EVERYTHING not in runners.store.controls().pauses
