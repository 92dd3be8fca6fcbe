"""Submitting over HTTP: what is accepted, what is refused, and keys that make a repeated request harmless."""

from __future__ import annotations

import os
import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import frappe
import pytest

from job_engine.api.submitting import MOST_JOBS
from job_engine.core.fingerprint import new_names
from job_engine.site import settings
from job_engine.tests.site.api.client import Client
from job_engine.tests.site.bench_workers import wait_until


def _count(organization: str) -> int:
    frappe.db.rollback()
    return frappe.db.count("Background Job", {"organization": organization})


def _key() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


def test_a_submitted_job_is_accepted_and_waits_for_its_time(cast, later):
    answer = cast["manager"].post("submit_job", job_type="test.effect", params={"value": "x"}, run_after=later)

    assert answer.status == 202
    job = answer.message
    assert (job["created"], job["status"], job["organization"]) == (True, "Pending", cast.acme)
    assert job["run_after"] == later
    row = frappe.db.get_value("Background Job", job["name"], ["user", "owner", "params"], as_dict=True)
    assert row.user == row.owner == cast.users["manager"]
    assert frappe.parse_json(row.params) == {"value": "x"}


def test_a_form_can_submit_too(cast, later):
    answer = cast["manager"].http.post(
        cast["manager"]._address("submit_job"),
        data={"job_type": "test.effect", "params": '{"value": "x"}', "run_after": later, "timeout": "30"},
    )

    assert answer.status_code == 202
    assert frappe.db.get_value("Background Job", answer.json()["message"]["name"], "timeout") == 30


def test_a_job_that_is_there_already_is_named(cast, later):
    first = cast["manager"].call("submit_job", job_type="test.effect", run_after=later, dedup_key="invoice:42")
    again = cast["manager"].post("submit_job", job_type="test.effect", run_after=later, dedup_key="invoice:42")

    assert again.status == 200
    assert again.message["created"] is False
    assert again.message["name"] == first["name"]


@pytest.mark.parametrize(
    ("wanted", "status", "told"),
    [
        ({"job_type": "no_such_type"}, 400, "No job type is called 'no_such_type'"),
        ({"job_type": "frappe.utils.now"}, 400, "never a function's path"),
        ({"job_type": "job_engine.tests.site.jobs.plain"}, 400, "never a function's path"),
        ({"job_type": "os.system", "params": {"command": "true"}}, 400, "never a function's path"),
        ({}, 400, "needs the argument 'job_type'"),
        ({"job_type": "test.effect", "params": [1]}, 400, "params"),
        ({"job_type": "test.effect", "params": "{"}, 400, "params is not JSON"),
        ({"job_type": "test.effect", "params": {"no_such": 1}}, 400, "does not accept these parameters"),
        ({"job_type": "test.effect", "run_after": "tomorrow"}, 400, "run_after is 'tomorrow'"),
        ({"job_type": "test.effect", "run_after": "9999-12-31T23:59:59"}, 400, "year"),
        ({"job_type": "test.effect", "runafter": "2099-01-01"}, 400, "has no argument 'runafter'"),
        ({"job_type": "test.effect", "priority": "Urgent"}, 400, "Urgent"),
        ({"job_type": "test.effect", "queue": "no_such"}, 400, "no queue"),
        ({"job_type": "test.effect", "max_attempts": 0}, 400, "max_attempts"),
        ({"job_type": "test.effect", "timeout": "soon"}, 400, "timeout"),
        ({"job_type": "test.effect", "depends_on": "no_such"}, 400, "There is no job no_such"),
        ({"job_type": "test.effect", "dedup_key": "x" * 141}, 400, "dedup_key has 141 characters"),
        ({"job_type": "test.effect", "params": {"value": "x" * 65_536}}, 413, "the limit is 65,536"),
        ({"job_type": "<script>alert(1)</script>"}, 400, "<script>"),
    ],
)
def test_what_cannot_be_accepted_is_refused_and_said_why(cast, wanted, status, told):
    before = _count(cast.acme)

    answer = cast["manager"].post("submit_job", **wanted)

    assert answer.status == status, answer.text
    assert told in answer.error
    assert answer.shown and "<script>" not in answer.shown
    assert "Traceback" not in answer.text
    assert _count(cast.acme) == before


def test_an_organization_with_too_many_waiting_jobs_is_told_to_wait(cast, later):
    """Filled up to the limit that every site starts with."""
    row = frappe.get_doc(
        "Background Job", cast["other"].call("submit_job", job_type="test.noop", run_after=later)["name"]
    )
    values = row.get_valid_dict(ignore_nulls=True, ignore_virtual=True)
    most = settings.read().max_waiting_jobs
    rows = [[*({**values, "name": name, "job_hash": name}).values()] for name in new_names(most)]
    frappe.db.bulk_insert("Background Job", list(values), rows, chunk_size=2000)
    frappe.db.commit()
    try:
        # A process counts what waits every five seconds, or when it has let in a quarter of what there was room for.
        answer = wait_until(
            lambda: (
                (a := cast["other"].post("schedule", jobs=[{"job_type": "test.noop"}], run_after=later)).status == 429
                and a
            )
        )
        assert "Queue full" in answer.error
    finally:
        frappe.db.delete("Background Job", {"organization": cast.globex, "job_type": "test.noop"})
        frappe.db.commit()


# Several at once -----------------------------------------------------------------------------------------------------------


def test_several_jobs_are_accepted_in_their_order(cast, later):
    jobs = [{"job_type": "test.effect", "params": {"value": str(i)}} for i in range(3)]

    answer = cast["manager"].post("schedule", jobs=[*jobs, {"job_type": "test.noop"}], run_after=later)

    assert answer.status == 202
    assert answer.message["created"] == 4
    assert [job["job_type"] for job in answer.message["jobs"]] == ["test.effect"] * 3 + ["test.noop"]
    assert {job["run_after"] for job in answer.message["jobs"]} == {later}


def test_of_several_jobs_all_are_made_or_none(cast, later):
    before = _count(cast.acme)

    answer = cast["manager"].post(
        "schedule", jobs=[{"job_type": "test.effect"}, {"job_type": "no_such"}], run_after=later
    )

    assert answer.status == 400
    assert answer.error.startswith("jobs[1]: No job type is called")
    assert _count(cast.acme) == before


@pytest.mark.parametrize("jobs", [[], "x", ["x"], [{}], [{"job_type": "test.noop", "user": "Administrator"}]])
def test_a_list_that_is_none_is_refused(cast, jobs):
    assert cast["manager"].post("schedule", jobs=jobs).status == 400


def test_a_list_that_is_too_long_is_refused(cast):
    answer = cast["manager"].post("schedule", jobs=[{"job_type": "test.noop"}] * (MOST_JOBS + 1))

    assert answer.status == 400
    assert "1 to 1000" in answer.error


# Idempotency-Key -----------------------------------------------------------------------------------------------------------


def test_a_repeated_request_makes_no_second_job(cast, later):
    key = _key()
    wanted = {"job_type": "test.effect", "params": {"value": "once"}, "run_after": later}

    first = cast["manager"].post("submit_job", key, **wanted)
    again = cast["manager"].post("submit_job", key, **wanted)

    assert (first.status, again.status) == (202, 200)
    assert again.message["name"] == first.message["name"]
    assert again.message["created"] is False


def test_ten_parallel_requests_with_one_key_make_one_job(cast, connected, web_url, later):
    key = _key()
    wanted = {"job_type": "test.effect", "params": {"value": "parallel"}, "run_after": later}
    token = cast["manager"].http.headers["Authorization"].removeprefix("token ")
    before = _count(cast.acme)

    with ThreadPoolExecutor(10) as pool:
        clients = [Client(web_url, connected, token) for _ in range(10)]
        answers = list(pool.map(lambda client: client.post("submit_job", key, **wanted), clients))

    assert sorted(answer.status for answer in answers) == [200] * 9 + [202], [a.text for a in answers]
    assert len({answer.message["name"] for answer in answers}) == 1
    assert _count(cast.acme) == before + 1


def test_a_key_stands_for_one_request(cast, later):
    key = _key()
    cast["manager"].post("submit_job", key, job_type="test.effect", params={"value": "a"}, run_after=later)

    other = cast["manager"].post("submit_job", key, job_type="test.effect", params={"value": "b"}, run_after=later)

    assert other.status == 422
    assert "used for another request" in other.error


def test_another_users_key_is_another_key(cast, later):
    key = _key()
    wanted = {"job_type": "test.effect", "organization": cast.acme, "run_after": later}

    mine = cast["manager"].post("submit_job", key, **wanted)
    theirs = cast["operator"].post("submit_job", key, **wanted)

    assert mine.message["created"] and theirs.message["created"]


def test_one_key_stands_for_a_whole_list(cast, later):
    key = _key()
    jobs = [{"job_type": "test.noop"}, {"job_type": "test.noop"}]

    first = cast["manager"].post("schedule", key, jobs=jobs, run_after=later)
    again = cast["manager"].post("schedule", key, jobs=jobs, run_after=later)

    assert (first.status, again.status) == (202, 200)
    assert first.message["created"] == 2 and again.message["created"] == 0
    assert [j["name"] for j in again.message["jobs"]] == [j["name"] for j in first.message["jobs"]]


def test_a_key_and_a_dedup_key_at_once_are_refused(cast):
    assert cast["manager"].post("submit_job", _key(), job_type="test.effect", dedup_key="x").status == 400


# CSRF, limits ----------------------------------------------------------------------------------------------------------------


def test_a_session_needs_its_csrf_token_to_change_something(cast, connected, web_url, later):
    """A browser sends its cookie to whoever asks it to; the token it sends only to the site's own pages."""
    browser = Client(web_url, connected)
    login = {"usr": "Administrator", "pwd": os.environ["JOB_ENGINE_SITE_PASSWORD"]}
    assert browser.http.post(f"{web_url}/api/method/login", data=login).status_code == 200
    desk = browser.http.get(f"{web_url}/app", headers={"Accept": "text/html"})  # from here on the session has a token
    (token,) = re.findall(r'frappe.csrf_token = "(\w+)"', desk.text)
    wanted = {"job_type": "test.effect", "organization": cast.acme, "run_after": later}

    forged = browser.post("submit_job", **wanted)
    real = browser.post("submit_job", {"X-Frappe-CSRF-Token": token}, **wanted)

    assert forged.status == 400 and forged.body["exc_type"] == "CSRFTokenError"
    assert real.status == 202


def test_too_many_requests_are_refused_for_a_while(cast):
    """Counted in whole minutes, of which a run of requests meets at most two."""
    answer = cast["busy"].post("cancel_job", name="no_such")
    assert answer.status == 404
    for _ in range(2 * 240 + 1):
        answer = cast["busy"].post("cancel_job", name="no_such")
        if answer.status == 429:
            break

    assert answer.status == 429
    assert "More than 240 requests in a minute" in answer.error
    assert 0 < answer.body["error"]["retry_after"] <= 60
    assert cast["busy"].post("list_jobs").status == 200  # looking is counted by itself
    assert cast["manager"].post("cancel_job", name="no_such").status == 404  # and everybody by themselves
