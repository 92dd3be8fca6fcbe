"""Desk's lists of jobs read a bounded part of the table, whatever they are sorted and filtered by."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import frappe
import pytest

from job_engine.site import list_calls, narrowing
from job_engine.tests.site import people


@pytest.fixture
def jobs(acme: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ten jobs, the oldest first, and bounds so small that they are felt."""
    monkeypatch.setattr(list_calls, "SORTED", 4)
    monkeypatch.setattr(list_calls, "SEARCHED", 6)
    for limit in ("LITTLE", "SCATTERED", "COVERED", "OF_ORGANIZATIONS"):
        monkeypatch.setattr(narrowing, limit, 0)
    monkeypatch.setattr(frappe.local, "response", frappe._dict())
    start = frappe.utils.now_datetime() + timedelta(days=1)  # newer than whatever else the site has
    return [people.job(acme, attempts=i % 3, creation=start + timedelta(seconds=i)) for i in range(10)]


def listed(order_by: str, **filters: Any) -> list[str]:
    conditions = [["Background Job", field, *value] for field, value in filters.items()]
    frappe.local.form_dict = frappe._dict(
        doctype="Background Job",
        fields='["name", "last_error"]',
        filters=frappe.as_json(conditions),
        order_by=order_by,
        page_length=20,
        view="List",
    )
    found = list_calls.get()
    return [row[found["keys"].index("name")] for row in found["values"]] if found else []


def counted(filters: list[Any]) -> int:
    frappe.local.form_dict = frappe._dict(
        doctype="Background Job", filters=frappe.as_json(filters), fields="[]", limit=1001
    )
    return list_calls.get_count()


def test_in_the_order_of_time_nothing_is_left_out(jobs: list[str], acme: str):
    assert listed("creation desc", organization=["=", acme]) == jobs[::-1]
    assert listed("`tabBackground Job`.`name` asc", organization=["=", acme]) == jobs
    assert "bounded" not in frappe.local.response


def test_by_a_column_of_the_list_all_are_sorted(jobs: list[str], acme: str):
    found = listed("`tabBackground Job`.`attempts` asc", organization=["=", acme])

    assert set(found) == set(jobs)
    assert [jobs.index(name) % 3 for name in found] == sorted(jobs.index(name) % 3 for name in found)
    assert "bounded" not in frappe.local.response


def test_by_a_column_that_only_reports_have_the_newest_matches_are_sorted(jobs: list[str], acme: str):
    assert set(listed("`tabBackground Job`.`timeout` asc", organization=["=", acme])) == set(jobs[-4:])
    assert frappe.local.response["bounded"] == {"sorted": 4}


def test_what_was_searched_is_all_sorted(jobs: list[str], acme: str):
    found = listed("`tabBackground Job`.`attempts` desc", organization=["=", acme], params=["like", "%"])

    assert [jobs.index(name) % 3 for name in found] == [2, 2, 1, 1, 0, 0]
    assert frappe.local.response["bounded"] == {"searched": 6}


def test_by_a_filter_that_nothing_is_known_of_the_newest_jobs_are_searched(jobs: list[str], acme: str):
    assert set(listed("creation desc", organization=["=", acme], params=["like", "%"])) == set(jobs[4:])
    assert frappe.local.response["bounded"] == {"searched": 6}


def test_whoever_filters_by_age_has_chosen_what_is_searched(jobs: list[str], acme: str):
    everything = {"organization": ["=", acme], "params": ["like", "%"], "creation": [">", "2000-01-01"]}

    assert listed("creation desc", **everything) == jobs[::-1]
    assert counted([[field, *value] for field, value in everything.items()]) == 10
    assert "bounded" not in frappe.local.response


def test_where_other_filters_leave_few_all_of_these_are_searched(
    jobs: list[str], acme: str, monkeypatch: pytest.MonkeyPatch
):
    if frappe.db.db_type == "postgres":
        pytest.skip("PostgreSQL is not told where to look")
    monkeypatch.setattr(narrowing, "LITTLE", 10)

    assert listed("creation desc", organization=["=", acme], params=["like", "%"]) == jobs[::-1]
    assert "bounded" not in frappe.local.response


def test_the_count_has_the_same_bound(jobs: list[str], acme: str):
    assert counted([["organization", "=", acme], ["params", "like", "%"]]) == 6


def test_a_report_gets_texts_that_are_no_markup(acme: str):
    job = people.job(acme, last_error="<img src=x onerror=alert(1)>")
    frappe.local.form_dict = frappe._dict(
        doctype="Background Job", fields='["name", "last_error"]', filters=frappe.as_json({"name": job}), view="Report"
    )

    assert "<img" not in str(list_calls.get())


def test_other_doctypes_are_frappes_own_affair(acme: str):
    frappe.local.form_dict = frappe._dict(
        doctype="Organization", fields='["name"]', filters=frappe.as_json({"name": acme}), view="List"
    )

    assert list_calls.get()["values"] == [[acme]]
