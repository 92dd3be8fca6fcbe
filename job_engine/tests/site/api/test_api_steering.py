"""Cancel and retry over HTTP: one job, one with other parameters, all that match; and who did it."""

from __future__ import annotations

import time

import frappe

from job_engine.core.redact import MASK
from job_engine.tests.site.api.conftest import make_dead_letter


def _row(name: str) -> frappe._dict:
    frappe.db.rollback()
    fields = ["status", "params", "user", "trusted", "modified_by", "canceled_by", "reason", "run_after", "checkpoint"]
    return frappe.db.get_value("Background Job", name, fields, as_dict=True)


def test_canceling_takes_dependents_along_and_says_who_did_it(cast, later):
    manager = cast["manager"]
    parent = manager.call("submit_job", job_type="test.noop", run_after=later)["name"]
    child = manager.call("submit_job", job_type="test.noop", depends_on=parent)["name"]

    answer = cast["operator"].call("cancel_job", name=parent, reason="wrong month")

    assert answer["status"] == "Canceled"
    row = _row(parent)
    assert row.canceled_by == row.modified_by == cast.users["operator"] and row.reason == "wrong month"
    assert _row(child).status == "Canceled" and _row(child).modified_by == cast.users["operator"]
    last = manager.call("get_job_history", name=parent)["history"][-1]
    assert (last["to_status"], last["actor"]) == ("Canceled", cast.users["operator"])


def test_what_has_ended_cannot_be_canceled_nor_what_waits_retried(cast, dead_letter, later):
    waiting = cast["manager"].call("submit_job", job_type="test.noop", run_after=later)["name"]

    canceled = cast["manager"].post("cancel_job", name=dead_letter)
    retried = cast["manager"].post("retry_job", name=waiting)

    assert canceled.status == retried.status == 409
    assert "Dead Letter" in canceled.error and "Pending" in retried.error


def test_a_retried_job_says_who_did_it(cast, dead_letter, later):
    answer = cast["manager"].call("retry_job", name=dead_letter, run_after=later)

    assert (answer["status"], answer["run_after"]) == ("Pending", later)
    assert _row(dead_letter).modified_by == cast.users["manager"]
    last = cast["manager"].call("get_job_history", name=dead_letter)["history"][-1]
    assert (last["from_status"], last["actor"]) == ("Dead Letter", cast.users["manager"])


def test_a_retried_job_runs_at_once_on_the_benchs_workers(cast):
    """End to end: the retry wakes a runner."""
    name = make_dead_letter(cast.acme, job_type="test.noop", params="{}", user=cast.users["manager"])
    cast["manager"].call("retry_job", name=name)

    until = time.monotonic() + 30
    while cast["user"].call("get_job_status", name=name)["status"] != "Completed":
        assert time.monotonic() < until, cast["user"].call("explain_job", name=name)
        time.sleep(0.05)


def test_other_parameters_are_kept_in_history_and_make_the_job_the_callers(cast, later):
    name = make_dead_letter(cast.acme, user="Administrator", trusted=1, checkpoint='{"page":5}')

    cast["manager"].call("retry_job", name=name, params={"value": "new"}, run_after=later)

    row = _row(name)
    assert frappe.parse_json(row.params) == {"value": "new"}
    assert (row.user, row.trusted, row.checkpoint) == (cast.users["manager"], 0, None)
    last = cast["manager"].call("get_job_history", name=name)["history"][-1]
    assert last["reason"] == (
        'retried by hand with other parameters (value: "old" -> "new"); it ran for Administrator before'
    )
    assert last["actor"] == cast.users["manager"]


def test_other_parameters_must_be_such_that_could_be_submitted(cast, dead_letter):
    def refused(name: str, params: object) -> str:
        answer = cast["manager"].post("retry_job", name=name, params=params)
        assert answer.status == 400, answer.text
        return answer.error

    assert "does not accept" in refused(dead_letter, {"no_such": 1})
    assert MASK in refused(dead_letter, {"value": MASK})
    path = make_dead_letter(cast.acme, job_type="frappe.utils.now", handler="frappe.utils.now", params="{}")
    assert "cannot be changed" in refused(path, {"x": 1})
    assert _row(dead_letter).params == '{"value":"old"}'


def test_all_that_match_are_retried_spread_over_time(cast):
    names = [make_dead_letter(cast.acme, job_type="test.effect", last_error="Error: spread me") for _ in range(5)]
    theirs = make_dead_letter(cast.globex, last_error="Error: spread me")
    canceled = make_dead_letter(cast.acme, status="Canceled", last_error="Error: spread me")
    filters = {"error_contains": "spread me"}

    preview = cast["manager"].call("retry_jobs", filters=filters, preview=1)
    assert preview["retried"] == 0 and preview["preview"]["total"] == 5
    assert preview["preview"]["by_organization"] == {cast.acme: 5}
    cast["manager"].call("pause", scope="organization", target=cast.acme)
    try:
        done = cast["manager"].call("retry_jobs", filters=filters, spread_seconds=4000)
    finally:
        cast["manager"].call("resume", scope="organization", target=cast.acme)

    assert done == {"preview": None, "retried": 5, "remaining": 0}
    due = [_row(name).run_after for name in names]
    assert [round((at - due[0]).total_seconds()) for at in due] == [0, 1000, 2000, 3000, 4000]
    assert _row(theirs).status == "Dead Letter" and _row(canceled).status == "Canceled"
    assert cast["manager"].call("retry_jobs", filters=filters)["retried"] == 0


def test_only_what_ended_without_success_can_be_retried(cast):
    answer = cast["manager"].post("retry_jobs", filters={"status": "Completed"})

    assert answer.status == 400
    assert "cannot be retried" in answer.error
