"""Pages in the order of any column are what a sort of all jobs would give, whichever way they are found."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import frappe
import pytest

from job_engine.core.priority import PRIORITIES, lane_of
from job_engine.core.states import ENDED, Status
from job_engine.site import engine, list_calls, listing, orders, sorting
from job_engine.tests.site import people

JOBS = 48
PAGE = 7
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"status": "Completed"},
    {"status": ["Dead Letter", "Failed", "Running"]},
    {"job_type": "type_b"},
    {"user": "user-1@example.com"},
    {"job_type": "type_c", "status": "Completed"},
)


@pytest.fixture
def varied(acme: str) -> list[frappe._dict]:
    """Jobs in all states, that differ in every column, and share values with some others."""
    start = frappe.utils.now_datetime() - timedelta(days=1)
    names = [_job(acme, n, start) for n in range(JOBS)]
    return frappe.get_all("Background Job", {"name": ["in", names]}, ["*"])


def _job(organization: str, n: int, start: Any) -> str:
    status = list(Status)[n % 8]
    priority, queue, job_type = PRIORITIES[n % 4], ("default", "short")[n % 2], f"type_{'abc'[n % 3]}"
    made = start + timedelta(seconds=n // 2)  # two at a time
    claimed = made + timedelta(seconds=n * 13 % 31)
    ended = claimed + timedelta(seconds=n * 7 % 19)
    has_started = status not in (Status.PENDING, Status.QUEUED) and n % 5 != 0
    has_failed = status in (Status.FAILED, Status.TIMED_OUT, Status.DEAD_LETTER)
    return people.job(
        organization,
        job_type,
        status.value,
        creation=made,
        modified=ended if status in ENDED else claimed,
        run_after=made + timedelta(seconds=n * 11 % 23),
        started_at=claimed if has_started else None,
        ended_at=ended if status in ENDED else None,
        lease_expires_at=claimed if status is Status.RUNNING else None,
        blockers=n % 3 if status is Status.PENDING else 0,
        attempts=n % 4,
        max_attempts=3 + n % 3,
        progress=n * 17 % 50,
        error_type=("Transient", "Permanent")[n // 8 % 2] if has_failed else None,
        priority=priority,
        queue=queue,
        user=f"user-{n % 3}@example.com" if n % 7 else None,
        lane=lane_of(priority, queue, organization, job_type),
    )


@pytest.fixture(params=["read", "walked", "read after a walk that took too long", "of a small organization"])
def found(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way in which the jobs are found."""
    if request.param != "read":
        monkeypatch.setattr(sorting, "LITTLE", 1)
    if request.param != "of a small organization":
        monkeypatch.setattr(sorting, "TOGETHER", 1)
    if request.param == "read after a walk that took too long":
        monkeypatch.setattr(sorting, "MOST_WALKS", 0)
        monkeypatch.setattr(sorting, "SCATTERED", 1)
    return str(request.param)


@pytest.mark.parametrize("column", orders.ORDERS)
def test_pages_are_in_order_and_have_every_job_once(varied: list[frappe._dict], acme: str, found: str, column: str):
    for filters, descending in itertools.product(FILTERS, (False, True)):
        wanted = listing.which(engine(), "Administrator", {"organization": acme, **filters})
        matching = {job.name: job for job in varied if _matches(job, filters)}
        pages = [
            [job.name for job in listing.page(engine(), wanted, column, descending, start, PAGE).jobs]
            for start in range(0, len(matching) + PAGE, PAGE)
        ]
        names = [name for page in pages for name in page]

        assert len(pages[0]) == min(PAGE, len(matching)), filters
        assert sorted(names) == sorted(matching), filters
        _check_order([matching[name] for name in names], column, descending)


@pytest.mark.parametrize("column", orders.ORDERS)
def test_desks_list_has_the_same_order(varied: list[frappe._dict], acme: str, found: str, column: str):
    jobs = {job.name: job for job in varied if job.status == "Completed"}
    frappe.local.form_dict = frappe._dict(
        doctype="Background Job",
        fields='["`tabBackground Job`.`name`", "`tabBackground Job`.`status`"]',
        filters=frappe.as_json(
            [["Background Job", "organization", "=", acme], ["Background Job", "status", "=", "Completed"]]
        ),
        order_by=f"`tabBackground Job`.`{column}` desc",
        start=2,
        page_length=3,
        view="List",
    )
    rows = list_calls.get()
    names = [row[rows["keys"].index("name")] for row in rows["values"]]
    wanted = listing.which(engine(), "Administrator", {"organization": acme, "status": "Completed"})

    assert names == [job.name for job in listing.page(engine(), wanted, column, True, 2, 3).jobs]
    _check_order([jobs[name] for name in names], column, True)
    assert "bounded" not in frappe.local.response


def test_names_with_signs_of_sql_are_names(varied: list[frappe._dict], found: str):
    odd = people.organization("50% {off} 'now' %s")
    jobs = [people.job(odd, attempts=n) for n in range(3)]
    frappe.local.form_dict = frappe._dict(
        doctype="Background Job",
        fields='["name"]',
        filters=frappe.as_json([["Background Job", "organization", "=", odd]]),
        order_by="`tabBackground Job`.`priority` asc, `tabBackground Job`.`creation` desc",
        page_length=20,
        view="List",
    )

    assert sorted(row[0] for row in list_calls.get()["values"]) == sorted(jobs)


@pytest.mark.parametrize("column", orders.ORDERS)
def test_a_name_in_other_letters_finds_what_the_database_finds(
    varied: list[frappe._dict], acme: str, found: str, column: str
):
    wanted = listing.which(engine(), "Administrator", {"organization": acme.upper()})
    is_found = frappe.db.count("Background Job", {"organization": acme.upper()})

    assert len(listing.page(engine(), wanted, column, True, 0, JOBS).jobs) == is_found


def test_a_renamed_organization_is_found_in_the_lanes(varied: list[frappe._dict], acme: str, found: str):
    renamed = frappe.rename_doc("Organization", acme, f"{acme} Renamed")
    wanted = listing.which(engine(), "Administrator", {"organization": renamed})

    assert len(listing.page(engine(), wanted, "queue", True, 0, JOBS).jobs) == JOBS


def _matches(job: frappe._dict, filters: dict[str, Any]) -> bool:
    return all(job[column] in (value if isinstance(value, list) else [value]) for column, value in filters.items())


def _check_order(jobs: list[frappe._dict], column: str, descending: bool) -> None:
    values = [PRIORITIES.index(job.priority) if column == "priority" else job[column] for job in jobs]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=descending)
    assert values[: len(known)] == known, "what is empty comes last"
