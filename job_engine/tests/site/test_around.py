"""What Frappe does around its own background jobs happens around durable ones: hooks, callbacks, locks of documents."""

from __future__ import annotations

import json
from collections.abc import Iterator

import frappe
import pytest
from frappe.monitor import MONITOR_REDIS_KEY
from frappe.utils import file_lock
from frappe.utils.background_jobs import execute_job

from job_engine.core.states import Status
from job_engine.site.engines import RunnersEngine
from job_engine.tests.site import jobs, people
from job_engine.tests.site.bench_workers import BenchWorkers, wait_until
from job_engine.tests.site.jobs import EFFECTS, HOOKED
from job_engine.tests.site.running import Bench

HERE = "job_engine.tests.site.jobs"
BEFORE, AFTER, FORGETFUL, BROKEN = (
    f"{HERE}.{name}" for name in ("before_job", "after_job", "forgetful_after_job", "broken_hook")
)
FRAPPES = [
    "frappe.recorder.record", "frappe.recorder.dump", "frappe.utils.file_lock.release_document_locks",
    "frappe.utils.background_jobs.flush_telemetry", "frappe.monitor.start", "frappe.monitor.stop",
]  # fmt: skip


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Hooks of an app's, beside Frappe's own."""
    HOOKED.clear()
    given = {"before_job": [BEFORE], "after_job": [AFTER]}
    known = frappe.get_hooks
    monkeypatch.setattr(
        frappe,
        "get_hooks",
        lambda hook=None, *a, **k: known(hook, *a, **k) + given[hook] if hook in given else known(hook, *a, **k),
    )
    return given


def left(kind: str) -> list[str]:
    frappe.db.rollback()
    return [value for (value,) in frappe.db.sql(f"SELECT value FROM `{EFFECTS}` WHERE kind = %s ORDER BY id", kind)]


# Hooks -------------------------------------------------------------------------------------------------------------------


def test_hooks_are_called_as_frappe_calls_them(here: Bench, hooks: dict[str, list[str]]):
    user = people.user("Job User", organizations=(here.organization,))
    frappe.db.commit()
    frappe.set_user(user)
    execute_job(frappe.local.site, f"{HERE}.plain", None, "plain", {"value": "x"}, user, is_async=False)
    by_frappe = HOOKED.copy()
    HOOKED.clear()

    here.enqueue(jobs.plain, {"value": "x"})
    here.run()

    assert [call[0] for call in HOOKED] == ["before", "after"]
    assert by_frappe == HOOKED


def test_each_job_is_committed_between_its_hooks(here: Bench, hooks: dict[str, list[str]]):
    for value in "abc":
        here.enqueue(jobs.plain, {"value": value})
    here.run()

    assert [call[0] for call in HOOKED] == ["before", "after"] * 3
    in_turn = frappe.db.sql(f"SELECT kind FROM `{EFFECTS}` ORDER BY id", pluck=True)
    assert in_turn == ["before_job", "plain", "after_job"] * 3


def test_the_hook_after_a_job_that_failed_is_called_without_a_result(here: Bench, hooks: dict[str, list[str]]):
    job = here.enqueue(jobs.fails, {"value": "x"})
    here.run()

    assert here.get(job).status is Status.FAILED
    assert [(call[0], call[3]) for call in HOOKED] == [("before", "job"), ("after", None)]
    assert (left("before_job"), left("plain"), len(left("after_job"))) == ([], [], 1), (
        "what came before is undone with it"
    )


def test_a_job_whose_hook_refuses_it_fails_and_is_not_run(here: Bench, hooks: dict[str, list[str]]):
    hooks["before_job"].append(BROKEN)
    job = here.enqueue(jobs.plain, {"value": "x"})
    here.run()

    failed = here.get(job)
    assert (failed.status, failed.last_error) == (Status.FAILED, "RuntimeError: a hook that is broken")
    assert left("plain") == []
    assert [call[0] for call in HOOKED] == ["before"], "as in Frappe, none is called afterwards"


def test_a_hook_that_fails_after_the_job_harms_neither_the_job_nor_the_other_hooks(
    here: Bench, hooks: dict[str, list[str]]
):
    hooks["after_job"].insert(0, BROKEN)
    job = here.enqueue(jobs.plain, {"value": "x"})
    here.run()

    assert here.get(job).status is Status.COMPLETED
    assert left("plain") == ["x"]
    assert len(left("after_job")) == 1
    titles = frappe.get_all("Error Log", {"method": ["like", f"%{BROKEN}%"]}, pluck="name")
    assert len(titles) == 1
    frappe.db.delete("Error Log", {"name": titles[0]})
    frappe.db.commit()


def test_what_a_hook_writes_and_does_not_commit_is_gone(here: Bench, hooks: dict[str, list[str]]):
    hooks["after_job"][:] = [FORGETFUL]
    for value in "ab":
        here.enqueue(jobs.plain, {"value": value})
    here.run()

    assert [call[0] for call in HOOKED] == ["before", "forgetful"] * 2
    assert (left("plain"), left("forgetful")) == (["a", "b"], [])


def test_without_hooks_of_apps_nothing_follows_a_job(here: Bench):
    assert set(FRAPPES) >= {*frappe.get_hooks("before_job"), *frappe.get_hooks("after_job")}
    engine = RunnersEngine.for_runners()
    assert not engine._around.follows, "and jobs are committed in groups"
    engine.close()


def test_frappes_monitor_sees_the_job_and_not_its_runner(here: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(frappe.local.conf, "monitor", 1)
    frappe.cache.delete_value(MONITOR_REDIS_KEY)
    job = here.enqueue(jobs.plain, {"value": "x"})
    here.run()

    (seen,) = (json.loads(entry) for entry in frappe.cache.lrange(MONITOR_REDIS_KEY, 0, -1))
    frappe.cache.delete_value(MONITOR_REDIS_KEY)
    assert (seen["uuid"], seen["transaction_type"], seen["job"]["method"]) == (job.name, "job", f"{HERE}.plain")
    assert 0 <= seen["job"]["wait"] < 60_000_000


# frappe.local.job ----------------------------------------------------------------------------------------------------------


def test_a_function_finds_its_own_job_in_frappe_local_and_may_hang_something_on_its_end(here: Bench):
    HOOKED.clear()
    user = people.user("Job User", organizations=(here.organization,))
    frappe.db.commit()
    frappe.set_user(user)
    ran = [here.enqueue(jobs.tells_what_follows, {"value": value}) for value in "ab"]
    here.run()

    assert [here.get(job).result for job in ran] == [f"{HERE}.tells_what_follows"] * 2
    assert [("after_job callback", value, True) for value in "ab"] == HOOKED


# Locks -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fail", [False, True])
def test_documents_that_a_job_has_locked_are_free_when_it_has_ended(here: Bench, fail: bool):
    names = ["Job User", "Job Manager", "System Manager"]
    HOOKED.clear()
    locked = [frappe.get_doc("Role", name).get_signature() for name in names]
    job = here.enqueue(jobs.locks, {"names": names, "fail": fail})
    here.run()

    assert here.get(job).status is (Status.FAILED if fail else Status.COMPLETED)
    assert [("at the commit", [True] * 3)] * (not fail) == HOOKED, "not before"
    assert [file_lock.lock_exists(name) for name in locked] == [False] * 3


# On a worker -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def hooks_of_the_site(connected: str) -> Iterator[None]:
    """An app's hooks, as all processes of the site find them: Frappe keeps those of all apps in its cache."""
    known = frappe.get_hooks()
    added = {name: [*known.get(name, []), path] for name, path in (("before_job", BEFORE), ("after_job", AFTER))}
    frappe.cache.set_value("app_hooks", {**known, **added})
    yield
    frappe.cache.delete_value("app_hooks")


def test_a_worker_calls_the_hooks_around_durable_jobs(workers: BenchWorkers, hooks_of_the_site: None):
    frappe.db.sql(f"DELETE FROM `{EFFECTS}`")
    frappe.db.commit()
    good, bad = (workers.enqueue(function, {"value": "x"}) for function in (f"{HERE}.plain", f"{HERE}.fails"))
    workers.start()
    workers.wait_for(good)
    workers.wait_for(bad, "Failed")

    wait_until(lambda: len(left("after_job")) == 2, 10, "the hooks, which come after the commit")
    assert sorted(left("after_job")) == [f"{HERE}.fails None", f"{HERE}.plain None"]
    assert left("before_job") == [f"{HERE}.plain"], "what it wrote for the other went with what that one wrote"
