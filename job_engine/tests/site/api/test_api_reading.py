"""Looking at jobs over HTTP: lists, one job, its history, numbers."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import frappe
import pytest

from job_engine.core.redact import MASK
from job_engine.site.listing import SORTABLE
from job_engine.tests.site.api.conftest import make_dead_letter


def test_times_are_in_utc_and_say_so(cast, later):
    name = cast["manager"].call("submit_job", job_type="test.effect", run_after="2099-01-01T05:30:00+05:30")["name"]

    status = cast["manager"].call("get_job_status", name=name)

    assert status["run_after"] == later
    assert abs(datetime.fromisoformat(status["modified"]) - datetime.now(timezone.utc)) < timedelta(minutes=1)


def test_secrets_are_masked_wherever_a_job_is_shown(cast):
    secret = "hunter2-very-secret"
    name = make_dead_letter(
        cast.acme,
        params=f'{{"api_key":"{secret}","note":"password={secret}","customer":"C-1"}}',
        result=f'{{"token":"{secret}","file_url":"/files/x.pdf"}}',
        checkpoint=f'{{"session":"{secret}"}}',
        last_error=f"HTTPError: password={secret}",
        traceback=f"Traceback: token={secret}",
        reason=f"token={secret}",
        progress_message=f"token={secret}",
    )

    for method in ("get_job", "get_job_status", "explain_job", "get_job_history"):
        assert secret not in cast["manager"].post(method, name=name).text, method
    assert secret not in cast["manager"].post("list_jobs", filters={"name": name}).text
    assert secret not in cast["manager"].post("dead_letter_causes").text
    job = cast["manager"].call("get_job", name=name)
    assert job["params"]["api_key"] == MASK and job["params"]["customer"] == "C-1"
    assert job["output_reference"] == "/files/x.pdf"


def test_a_row_that_somebody_has_spoiled_can_still_be_looked_at(cast):
    name = make_dead_letter(cast.acme, params="{not json")

    assert "not JSON" in cast["manager"].call("get_job", name=name)["params"]


def test_a_jobs_relatives_and_what_may_be_done_with_it(cast, later):
    parent = cast["manager"].call("submit_job", job_type="test.noop", run_after=later)["name"]
    child = cast["manager"].call("submit_job", job_type="test.noop", depends_on=parent)["name"]

    job = cast["manager"].call("get_job", name=parent)

    assert [relative["name"] for relative in job["dependents"]] == [child]
    assert cast["manager"].call("get_job", name=child)["parents"][0]["name"] == parent
    assert job["permitted"] == {"cancel": True, "retry": False, "retry_with_params": False}
    assert cast["user"].call("get_job", name=parent)["permitted"]["cancel"] is False
    assert "Waiting for job" in cast["user"].call("explain_job", name=child)["explanation"]


# Lists -----------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def listed(cast):
    """Seven jobs of a type that nothing else has."""
    names = []
    for i in range(7):
        names.append(
            make_dead_letter(
                cast.acme,
                job_type="test.listed",
                priority=["Low", "Critical", "Normal", "High"][i % 4],
                attempts=i,
                progress=10 * i,
                started_at=frappe.utils.add_to_date(None, hours=-i),
                last_error=f"Error: 100% of {i}",
                error_type="Transient" if i % 2 else "Permanent",
            )
        )
    make_dead_letter(cast.globex, job_type="test.listed")
    return names


def test_a_page_and_the_total(cast, listed):
    pages = [
        cast["user"].call("list_jobs", filters={"job_type": "test.listed"}, start=start, page_length=3)
        for start in (0, 3, 6)
    ]

    assert [job["name"] for page in pages for job in page["jobs"]] == listed[::-1]
    assert all(page["total"] == 7 and page["total_is_exact"] for page in pages)


def test_an_operator_sees_every_organization(cast, listed):
    assert cast["operator"].call("list_jobs", filters={"job_type": "test.listed"})["total"] == 8


@pytest.mark.parametrize("way", ["asc", "desc"])
@pytest.mark.parametrize("column", SORTABLE)
def test_a_list_is_sorted_by_any_column(cast, listed, column, way):
    jobs = cast["user"].call("list_jobs", filters={"job_type": "test.listed"}, sort=f"{column} {way}")["jobs"]

    ranks = ["Critical", "High", "Normal", "Low"]
    values = [ranks.index(job[column]) if column == "priority" else job[column] for job in jobs]
    assert len(jobs) == 7
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=way == "desc")
    assert values[: len(known)] == known  # what is empty comes last


def test_filters(cast, listed):
    def found(**filters: object) -> list[str]:
        answer = cast["user"].call("list_jobs", filters={"job_type": "test.listed", **filters}, sort="name")
        assert answer["total"] == len(answer["jobs"])
        return [job["name"] for job in answer["jobs"]]

    assert found(priority="Critical") == [listed[1], listed[5]]
    assert found(priority=["Critical", "High"], error_type="Transient") == [listed[1], listed[3], listed[5]]
    assert found(error_contains="100% of 4") == [listed[4]]
    assert found(error_contains="1__%") == []
    assert found(status="Completed") == []
    assert found(organization=cast.globex) == []
    assert found(created_after="2099-01-01") == []
    assert found(created_before="2099-01-01", name=listed[2]) == [listed[2]]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"filters": {"1=1; --": "x"}}, "cannot be filtered by"),
        ({"filters": {"params": "x"}}, "cannot be filtered by 'params'"),
        ({"filters": {"traceback": "x"}}, "cannot be filtered by"),
        ({"filters": {"status": ["like", "%"]}}, "There is no state 'like'"),
        ({"filters": {"job_type": {"like": "%"}}}, "job_type is a text or a list"),
        ({"filters": {"name": [["like", "%"]]}}, "name is a text or a list"),
        ({"filters": [["status", "=", "Queued"]]}, "filters"),
        ({"filters": {"created_after": "' OR 1=1"}}, "created_after"),
        ({"filters": {"created_after": 5}}, "created_after"),
        ({"sort": "params"}, "cannot be sorted by 'params'"),
        ({"sort": "lane desc"}, "cannot be sorted by 'lane'"),
        ({"sort": "name; DROP TABLE x"}, "sort is"),
        ({"sort": "name desc, (SELECT 1)"}, "sort is"),
        ({"sort": "(SELECT 1) desc"}, "sort is"),
        ({"page_length": 501}, "page_length is 501"),
        ({"page_length": 0}, "page_length is 0"),
        ({"start": -1}, "start is -1"),
        ({"page_length": "x"}, "page_length"),
        ({"fields": ["params"]}, "has no argument 'fields'"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_said_why(cast, arguments, told):
    answer = cast["manager"].post("list_jobs", **arguments)

    assert answer.status == 400, answer.text
    assert told in answer.error


def test_a_filters_value_is_a_value_and_never_sql(cast, listed):
    answer = cast["user"].call("list_jobs", filters={"organization": f"{cast.acme}' OR '1'='1"})

    assert answer["jobs"] == []


# Numbers -------------------------------------------------------------------------------------------------------------------


def test_metrics_are_of_the_callers_organization(cast, later):
    cast["manager"].call("submit_job", job_type="test.noop", run_after=later)

    mine = cast["user"].call("get_job_metrics")

    assert mine["organization"] == cast.acme
    assert mine["job_count_by_status"]["Pending"] >= 1
    assert cast["operator"].call("get_job_metrics")["organization"] is None


def test_prometheus_reads_plain_text(cast):
    response = cast["operator"].http.get(cast["operator"]._address("prometheus"))

    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE job_engine_jobs_completed_total counter" in response.text


def test_dead_letters_with_one_cause_are_one_row(cast):
    for i in range(3):
        make_dead_letter(cast.globex, job_type="test.fail", last_error=f"ValueError: Invoice INV-{i} not found")
    make_dead_letter(cast.globex, job_type="test.fail", last_error="ValueError: something else")

    causes = cast["other"].call("dead_letter_causes", filters={"job_type": "test.fail"})["causes"]

    assert [(c["count"], c["error"]) for c in causes] == [
        (3, "ValueError: Invoice … not found"),
        (1, "ValueError: something else"),
    ]
    preview = cast["other"].call("retry_jobs", filters={"cause": causes[0]["cause"]}, preview=True)["preview"]
    assert preview["total"] == 3
    assert preview["by_type"] == {"test.fail": 3}


def test_the_ledger_has_the_callers_organizations(cast):
    frappe.db.sql(
        """INSERT INTO `__job_engine_stat` (at, job_type, organization, event, bucket, shard, n, seconds)
            VALUES (%(at)s, 'test.noop', %(acme)s, 'Completed', 7, 0, 4, 2.5),
            (%(at)s, 'test.noop', %(acme)s, 'Failed', 7, 0, 1, 0.5), (%(at)s, 'test.noop', %(acme)s, 'claimed', 3, 0, 5, 0.2),
            (%(at)s, 'test.noop', %(globex)s, 'Completed', 7, 0, 9, 9)""",
        {"at": frappe.utils.now_datetime(), "acme": cast.acme, "globex": cast.globex},
    )
    frappe.db.commit()

    ledger = cast["manager"].call("organization_ledger", hours=1)["organizations"]

    assert [row["organization"] for row in ledger] == [cast.acme]
    assert (ledger[0]["completed"], ledger[0]["failed_attempts"], ledger[0]["worker_seconds"]) == (4, 1, 3.0)
    assert 0.025 <= ledger[0]["wait_p95"] <= 0.05
    everyone = cast["operator"].call("organization_ledger", hours=1)["organizations"]
    assert {cast.acme, cast.globex} <= {row["organization"] for row in everyone}


def test_workers_names_and_machines_are_for_operators(cast):
    frappe.db.sql("DELETE FROM `__job_engine_worker` WHERE name = 'test-api-worker'")
    now = frappe.utils.now_datetime()
    frappe.db.sql(
        """INSERT INTO `__job_engine_worker` (name, host, pid, queues, started_at, seen_at)
            VALUES ('test-api-worker', 'machine-1', 4711, 'default', %s, %s)""",
        (now, now),
    )
    running = make_dead_letter(cast.acme, status="Running", lease_owner="test-api-worker", ended_at=None,
                               lease_expires_at=frappe.utils.add_to_date(now, hours=1))  # fmt: skip
    try:
        (seen,) = [w for w in cast["operator"].call("workers")["workers"] if w["name"] == "test-api-worker"]
        assert (seen["host"], seen["pid"], [job["name"] for job in seen["running"]]) == ("machine-1", 4711, [running])
        managers = cast["manager"].post("workers")
        assert "machine-1" not in managers.text and "4711" not in managers.text and running in managers.text
        assert running not in cast["other"].post("workers").text
    finally:
        frappe.db.sql("DELETE FROM `__job_engine_worker` WHERE name = 'test-api-worker'")
        frappe.db.delete("Background Job", {"name": running})
        frappe.db.commit()
