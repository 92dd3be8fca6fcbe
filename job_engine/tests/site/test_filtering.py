"""A filter of any column finds what Frappe's own query finds, whichever way the jobs are found."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import frappe
import pytest

from job_engine.site import engine, list_calls, narrowing, sorting
from job_engine.tests.site import people
from job_engine.tests.site.test_sorting import varied  # noqa: F401 - a fixture of the one below

NUMBERS = ("attempts", "max_attempts", "progress", "blockers")
WORDS = ("error_type", "priority", "queue", "job_type", "organization", "user", "status", "lease_owner", "last_error")
TIMES = ("run_after", "started_at", "ended_at", "modified", "lease_expires_at")
SORTS = ("creation desc", "attempts desc")


@pytest.fixture
def jobs(varied: list[frappe._dict]) -> list[frappe._dict]:  # noqa: F811
    """Jobs that differ in every column: those that run have an owner, those that failed an error, and what has completed
    was started."""
    for job in varied:
        job.lease_owner = "worker-1" if job.status == "Running" else None
        job.last_error = "Connection refused" if job.error_type else None
        job.started_at = job.ended_at if job.status == "Completed" else job.started_at
        values = {column: job[column] for column in ("lease_owner", "last_error", "started_at")}
        frappe.db.set_value("Background Job", job.name, values, update_modified=False)
    return varied


@pytest.fixture(params=["small", "in order of age", "too many values", "after a walk that took too long"])
def found(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way in which the jobs are found."""
    monkeypatch.setattr(list_calls, "SEARCHED", 0)  # what is bounded finds nothing
    if request.param != "small":
        for limit in ("LITTLE", "SCATTERED", "COVERED", "OF_ORGANIZATIONS"):
            monkeypatch.setattr(narrowing, limit, 0)
        for limit in ("LITTLE", "SCATTERED", "TOGETHER"):
            monkeypatch.setattr(sorting, limit, 0)
    if request.param == "too many values":
        monkeypatch.setattr(narrowing, "MOST_WALKS", 0)
    if request.param == "after a walk that took too long":
        monkeypatch.setattr(sorting, "MOST_WALKS", 0)
    return str(request.param)


def _filters_of_numbers() -> list[Any]:
    values = [("=", 2), ("!=", 2), (">", 1), ("<=", 1), ("in", [0, 3]), ("not in", [0, 3])]
    return [(column, *value) for column in NUMBERS for value in values]


def _filters_of_words() -> list[Any]:
    values = {
        "error_type": ["Transient", "Permanent"],
        "priority": ["High", "Low"],
        "queue": ["short"],
        "job_type": ["type_b"],
        "organization": ["nobody's"],
        "user": ["user-1@example.com"],
        "status": ["Failed"],
        "lease_owner": ["worker-1"],
        "last_error": ["Connection refused"],
    }
    ways = [
        (column, operator, value if operator not in ("in", "not in") else [value])
        for column in WORDS
        for value in values[column]
        for operator in ("=", "!=", "in", "not in")
    ]
    likes = [(column, operator, f"%{values[column][0][1:4]}%") for column in WORDS for operator in ("like", "not like")]
    empty = [("error_type", "=", ""), ("lease_owner", "in", ["", "worker-1"])]
    return [*ways, *likes, *empty, *((column, "is", value) for column in WORDS for value in ("set", "not set"))]


def _filters_of_times(jobs: list[frappe._dict]) -> list[Any]:
    found = []
    for column in TIMES:
        times = sorted(job[column] for job in jobs if job[column])
        early, late = str(times[len(times) // 3]), str(times[2 * len(times) // 3])
        found += [(column, operator, early) for operator in ("=", ">", ">=", "<", "<=", "!=")]
        found += [(column, ">", late), (column, "<", str(times[0] - timedelta(days=9)))]
        found += [(column, "between", [early[:10], late[:10]]), (column, "timespan", "last week")]
        found += [(column, "timespan", "today"), (column, "is", "set"), (column, "is", "not set")]
    return found


def _expected(filters: list[Any]) -> set[str] | None:
    """What Frappe finds by itself. None: it cannot ask PostgreSQL that."""
    frappe.db.savepoint("asked")
    try:
        return set(frappe.get_list("Background Job", filters=filters, pluck="name", limit=0))
    except Exception:
        if frappe.db.db_type != "postgres":
            raise
        frappe.db.rollback(save_point="asked")
        return None


def _listed(filters: list[Any], order_by: str, start: int = 0, length: int = 100) -> list[str]:
    frappe.local.form_dict = frappe._dict(
        doctype="Background Job",
        fields='["name"]',
        filters=frappe.as_json(filters),
        order_by=f"`tabBackground Job`.{order_by}",
        start=start,
        page_length=length,
        view="List",
    )
    answer = list_calls.get()
    return [row[0] for row in answer["values"]] if answer else []


def _counted(filters: list[Any], limit: int | None = 1001) -> int:
    frappe.local.form_dict = frappe._dict(
        doctype="Background Job", filters=frappe.as_json(filters), fields="[]", distinct="false", limit=limit
    )
    return list_calls.get_count()


def _check(jobs: list[frappe._dict], column: str, operator: str, value: Any) -> None:
    filters = [["name", "in", [job.name for job in jobs]], [column, operator, value]]
    expected = _expected(filters)
    if expected is None:
        return
    for sort in SORTS:
        found = _listed(filters, sort)
        assert sorted(found) == sorted(expected), (filters[1], sort)
        if sort == "creation desc":
            assert found == sorted(found, reverse=True), filters[1]
    assert _listed(filters, "creation asc", 3, 4) == sorted(expected)[3:7], filters[1]
    assert _counted(filters) == len(expected), filters[1]
    assert "bounded" not in frappe.local.response


def test_numbers(jobs: list[frappe._dict], found: str):
    for each in _filters_of_numbers():
        _check(jobs, *each)


def test_words(jobs: list[frappe._dict], found: str):
    for each in _filters_of_words():
        _check(jobs, *each)


def test_times(jobs: list[frappe._dict], found: str):
    for each in _filters_of_times(jobs):
        _check(jobs, *each)


def test_every_column_of_the_list_can_be_filtered_by_without_a_bound():
    shown = {field.fieldname for field in frappe.get_meta("Background Job").fields if field.in_list_view}

    assert shown <= {*narrowing.KNOWN}


def test_a_count_without_a_limit_is_of_all(jobs: list[frappe._dict], found: str):
    filters = [["name", "in", [job.name for job in jobs]], ["attempts", ">", 0]]

    assert _counted(filters, limit=None) == len([job for job in jobs if job.attempts > 0])


def test_dependents_are_found_by_their_parent(acme: str, found: str):
    parent, other = people.job(acme), people.job(acme)
    children = [engine().enqueue("test.noop", organization=acme, depends_on=parent).name for _ in range(2)]
    engine().enqueue("test.noop", organization=acme, depends_on=other)

    assert _listed([["depends_on", "=", parent]], "creation asc") == children
