"""What Desk and the REST API may do with our doctypes, and what they are told where they may not."""

from __future__ import annotations

import frappe
import pytest
from frappe.core.doctype.log_settings.log_settings import _supports_log_clearing

from job_engine.core.job import COLUMNS
from job_engine.core.priority import PRIORITIES
from job_engine.core.retry import PRESETS
from job_engine.core.states import Status
from job_engine.site import job_types, settings, tenancy
from job_engine.tests.site import people


def options_of(doctype: str, field: str) -> list[str]:
    return frappe.get_meta(doctype).get_field(field).options.split("\n")


# Background Job ----------------------------------------------------------------------------------------------------------


def test_every_column_of_a_job_is_a_field_or_one_of_frappes_own():
    assert set(COLUMNS) <= set(frappe.get_meta("Background Job").get_valid_columns())


def test_the_choices_are_those_of_the_engine():
    assert options_of("Background Job", "status") == [str(status) for status in Status]
    assert options_of("Background Job", "priority") == list(PRIORITIES)
    assert options_of("Job Type", "priority") == ["", *PRIORITIES]
    assert options_of("Job Type", "retry_policy") == ["", *PRESETS, "Custom"]


def test_a_job_cannot_be_made_by_hand(acme):
    with pytest.raises(frappe.ValidationError, match=r"made by job_engine\.enqueue or the API"):
        frappe.get_doc(doctype="Background Job", name="by-hand", job_type="x", organization=acme).insert()


def test_a_job_cannot_be_changed_by_hand(acme):
    job = frappe.get_doc("Background Job", people.job(acme, status="Dead Letter"))
    job.status = "Queued"

    with pytest.raises(frappe.ValidationError, match="cancel or retry it"):
        job.save()


@pytest.mark.parametrize("role", ["Job Manager", "Job User", "System Manager"])
@pytest.mark.parametrize("right", ["create", "write", "share", "import"])
def test_no_role_may_write_jobs(as_user, role, right):
    as_user(people.user(role))

    assert not frappe.has_permission("Background Job", right)


@pytest.mark.parametrize("role, may", [("Job Manager", False), ("Job User", False), ("System Manager", True)])
def test_only_a_system_manager_deletes_jobs(as_user, acme, role, may):
    job = people.job(acme)
    as_user(people.user(role, organizations=(acme,)))

    assert frappe.get_doc("Background Job", job).has_permission("delete") is may


def test_a_job_that_may_still_run_cannot_be_deleted(acme):
    job = people.job(acme, status="Queued")

    with pytest.raises(frappe.ValidationError, match="Cancel it first"):
        frappe.delete_doc("Background Job", job)


def test_a_deleted_job_takes_its_history_along(acme):
    job = people.job(acme)
    people.log_entry(job)

    frappe.delete_doc("Background Job", job)

    assert not frappe.db.exists("Job Execution Log", {"job": job})


def test_a_job_that_another_one_waits_for_cannot_be_deleted(acme):
    parent, child = people.job(acme, status="Dead Letter"), people.job(acme, status="Pending", blockers=1)
    frappe.db.sql("INSERT INTO `__job_engine_dependency` (job, parent) VALUES (%s, %s)", (child, parent))

    with pytest.raises(frappe.ValidationError, match=f"{child} waits for {parent}"):
        frappe.delete_doc("Background Job", parent)


@pytest.mark.parametrize(
    "result, reference",
    [
        ('{"output_reference": "Report 7", "file": "/files/a.pdf"}', "Report 7"),
        ('{"file_url": "/files/b.pdf"}', "/files/b.pdf"),
        ('{"file": "/files/c.pdf"}', "/files/c.pdf"),
        ('{"rows": 3}', None),
        ('{"file": {"name": "d"}}', None),
        ("[1]", None),
        ("no json", None),
        (None, None),
    ],
)
def test_the_output_is_what_the_result_names(acme, result, reference):
    assert frappe.get_doc("Background Job", people.job(acme, result=result)).output_reference == reference


def test_log_settings_can_clear_jobs():
    assert _supports_log_clearing("Background Job")
    assert settings.retention_days() == 30


def test_history_cannot_be_written_by_hand(acme):
    with pytest.raises(frappe.ValidationError, match="written by the engine alone"):
        frappe.get_doc(doctype="Job Execution Log", job=people.job(acme), to_status="Queued").insert()


# Job Type ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pdf():
    return frappe.get_doc(doctype="Job Type", type_name="test_pdf", handler="app.jobs.pdf").insert()


def test_a_new_type_overrides_nothing(pdf):
    assert job_types.policy_of(pdf) == {}
    assert pdf.enabled


def test_what_an_administrator_sets_overrides_the_code(pdf):
    pdf.update(
        {
            "queue": "long",
            "priority": "High",
            "timeout_category": "Bulk",
            "timeout": 7,
            "max_attempts": 2,
            "concurrency": 3,
            "rate": "100/m",
            "dedup_window": "0",
            "retry_policy": "Custom",
            "custom_retry": "[10, 60]",
            "commit": "Each",
            "isolation": "Process",
        }
    )
    pdf.save()

    policy = job_types.Overrides.current().policies["test_pdf"]
    assert (policy["queue"], policy["priority"], policy["timeout"], policy["max_attempts"]) == ("long", "High", 1800, 2)
    assert (policy["concurrency"], policy["rate"].count, policy["dedup_window"]) == (3, 100, 0)
    assert policy["retry"].schedule(3) == [10, 60, 60]
    assert (policy["commit"], policy["isolation"]) == ("Each", "Process")


def test_no_limit_is_a_timeout_of_its_own(pdf):
    pdf.update({"timeout_category": "No Limit"}).save()

    assert job_types.policy_of(pdf)["timeout"] == 0


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("rate", "often", "Rate 'often' cannot be read"),
        ("queue", "no queue", "cannot name a queue"),
        ("dedup_window", "soon", "whole number of seconds"),
        ("dedup_window", "-5", "whole number of seconds"),
        ("timeout", -1, "The timeout is -1"),
        ("priority", "Urgent", "Priority"),
    ],
)
def test_a_value_that_cannot_work_is_refused_in_the_engines_words(pdf, field, value, message):
    pdf.set(field, value)

    with pytest.raises(frappe.ValidationError, match=message):
        pdf.save()


@pytest.mark.parametrize(
    "text, message",
    [
        ("[10", "no JSON"),
        ("null", "not a retry policy"),
        ('{"kind": "odd"}', "'odd' does not exist"),
        ("[]", "at least one delay"),
    ],
)
def test_a_retry_policy_that_cannot_be_read_is_refused(pdf, text, message):
    pdf.update({"retry_policy": "Custom", "custom_retry": text})

    with pytest.raises(frappe.ValidationError, match=message):
        pdf.save()


def test_a_type_without_code_cannot_be_made():
    with pytest.raises(frappe.ValidationError, match="made by code"):
        frappe.get_doc(doctype="Job Type", type_name="wish").insert()


@pytest.mark.parametrize("status", ["Queued", "Completed"])
def test_a_type_with_jobs_cannot_be_deleted(pdf, acme, status):
    people.job(acme, "test_pdf", status)

    with pytest.raises(frappe.ValidationError, match=r"1 jobs of type test_pdf exist.*Enabled"):
        frappe.delete_doc("Job Type", "test_pdf")


def test_a_type_without_jobs_can(pdf):
    frappe.delete_doc("Job Type", "test_pdf")

    assert not frappe.db.exists("Job Type", "test_pdf")


def test_a_manager_reads_types_and_does_not_change_them(as_user, pdf):
    as_user(people.user("Job Manager"))

    assert pdf.has_permission("read")
    assert not pdf.has_permission("write")


# Job Engine Settings -------------------------------------------------------------------------------------------------------


@pytest.fixture
def chosen():
    yield frappe.get_doc("Job Engine Settings")
    frappe.db.rollback()
    frappe.clear_cache(doctype="Background Job")


def test_the_engine_runs_with_what_is_saved(chosen):
    chosen.update({"lease_seconds": 90, "heartbeat_seconds": 20, "grace_seconds": 5, "max_waiting_jobs": 7}).save()

    read = settings.read()
    assert (read.engine.lease_seconds, read.engine.heartbeat_seconds, read.engine.grace_seconds) == (90, 20, 5)
    assert read.max_waiting_jobs == 7


def test_what_was_rolled_back_is_not_in_force(chosen):
    before = settings.read()
    chosen.update({"max_waiting_jobs": 7}).save()
    assert settings.read().max_waiting_jobs == 7

    frappe.db.rollback()

    assert settings.read() == before


def test_settings_have_the_engines_defaults_before_there_are_any():
    frappe.db.delete("Singles", {"doctype": "Job Engine Settings"})
    settings.forget()

    assert settings.read().engine == settings.Settings()
    assert settings.read().tenant_doctype == "Organization"


@pytest.mark.parametrize(
    "values, message",
    [
        ({"lease_seconds": 1}, "from 10 to 3600"),
        ({"lease_seconds": 60, "heartbeat_seconds": 30}, "at most 20 s"),
        ({"grace_seconds": 0}, "Grace"),
        ({"payload_bytes": 10}, "from 1024"),
        ({"max_waiting_jobs": 0}, "suspend it"),
        ({"retention_days": 0}, "at least a day"),
    ],
)
def test_a_number_that_would_stop_the_engine_is_refused(chosen, values, message):
    chosen.update(values)

    with pytest.raises(frappe.ValidationError, match=message):
        chosen.save()


def test_retention_is_one_number_with_log_settings(chosen):
    chosen.update({"retention_days": 12}).save()
    assert settings.retention_days() == 12

    log_settings = frappe.get_doc("Log Settings")
    next(row for row in log_settings.logs_to_clear if row.ref_doctype == "Background Job").days = 40
    log_settings.save()

    assert frappe.get_doc("Job Engine Settings").retention_days == 40
    assert settings.read().engine.retention_days == 40


def test_another_tenant_doctype_changes_the_link_and_who_is_permitted(chosen, acme, monkeypatch):
    monkeypatch.setattr(type(chosen), "_check_tenant_doctype", lambda self: None)  # jobs of other tests may wait
    chosen.update({"tenant_doctype": "Language"}).save()

    assert frappe.get_meta("Background Job", cached=False).get_field("organization").options == "Language"
    assert tenancy.exists("en")
    assert not tenancy.exists(acme)


def test_another_tenant_doctype_is_refused_while_jobs_of_others_wait(chosen, acme):
    people.job(acme, status="Pending")

    with pytest.raises(frappe.ValidationError, match=f"{acme}.*Let them end or cancel them first"):
        chosen.update({"tenant_doctype": "Language"}).save()


@pytest.mark.parametrize("doctype", ["System Settings", "Has Role", "RQ Job"])
def test_a_tenant_doctype_must_have_documents(chosen, doctype):
    with pytest.raises(frappe.ValidationError, match="no documents of its own"):
        chosen.update({"tenant_doctype": doctype}).save()


def test_only_a_system_manager_reads_the_settings(as_user):
    as_user(people.user("Job Manager"))

    assert not frappe.has_permission("Job Engine Settings", "read")
