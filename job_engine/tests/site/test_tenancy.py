"""Two organizations on one site: each user sees what their User Permissions say, wherever Frappe shows documents."""

from __future__ import annotations

import json

import frappe
import pytest
from frappe.client import get_list as client_list
from frappe.desk.reportview import get as reportview
from frappe.desk.search import search_link
from frappe.handler import execute_cmd

from job_engine.core.errors import InvalidJob
from job_engine.site import briefing, engine, tenancy
from job_engine.tests.site import people


@pytest.fixture
def acmes_job(acme):
    return people.job(acme)


@pytest.fixture
def globexs_job(globex):
    return people.job(globex)


@pytest.fixture
def acmes_user(acme):
    return people.user("Job User", organizations=(acme,))


def execute_cmd_of(method: str, **arguments):
    """As a request to /api/method does: through the hooks that put other methods in their place."""
    frappe.local.form_dict = frappe._dict(cmd=method, **arguments)
    frappe.local.request = frappe._dict(method="GET")
    try:
        return execute_cmd(method)
    finally:
        del frappe.local.request


# What a user may see -----------------------------------------------------------------------------------------------------


def test_a_list_has_only_the_jobs_of_the_users_organizations(as_user, acmes_user, acmes_job, globexs_job):
    as_user(acmes_user)

    assert frappe.get_list("Background Job", pluck="name") == [acmes_job]


def test_a_count_counts_only_them(as_user, acmes_user, acmes_job, globexs_job):
    as_user(acmes_user)

    assert execute_cmd_of("frappe.client.get_count", doctype="Background Job") == 1
    assert execute_cmd_of("frappe.client.get_count", doctype="Background Job", filters={"name": globexs_job}) == 0
    assert execute_cmd_of("frappe.desk.reportview.get_count", doctype="Background Job", fields="[]") == 1


def test_other_doctypes_are_counted_as_ever(as_user, acmes_user):
    as_user(acmes_user)

    assert execute_cmd_of("frappe.client.get_count", doctype="DocType", filters={"name": "User"}) == 1


def test_a_filter_for_another_organization_finds_nothing(as_user, acmes_user, acmes_job, globexs_job, globex):
    as_user(acmes_user)

    assert client_list("Background Job", filters={"organization": globex}) == []


def test_a_condition_that_is_always_true_does_not_widen_the_list(as_user, acmes_user, acmes_job, globexs_job):
    as_user(acmes_user)

    found = frappe.get_list(
        "Background Job", or_filters=[["status", "=", "Completed"], ["name", "like", "%"]], pluck="name"
    )

    assert found == [acmes_job]


def test_a_report_has_only_them(as_user, acmes_user, acmes_job, globexs_job):
    as_user(acmes_user)
    frappe.local.form_dict = frappe._dict(doctype="Background Job", fields=json.dumps(["`tabBackground Job`.`name`"]))

    assert reportview()["values"] == [[acmes_job]]


@pytest.mark.parametrize("ignore", [0, 1])
def test_link_search_finds_only_them_whatever_the_caller_asks_to_ignore(
    as_user, acmes_user, acmes_job, globexs_job, ignore
):
    as_user(acmes_user)

    found = search_link("Background Job", "", ignore_user_permissions=ignore)

    assert [row["value"] for row in found] == [acmes_job]


@pytest.mark.parametrize("ignore", [0, 1])
def test_link_search_finds_only_the_users_organizations(as_user, acmes_user, acme, globex, ignore):
    as_user(acmes_user)

    found = search_link("Organization", "", ignore_user_permissions=ignore)

    assert [row["value"] for row in found] == [acme]


def test_a_job_of_another_organization_cannot_be_opened(as_user, acmes_user, acmes_job, globexs_job):
    as_user(acmes_user)

    assert frappe.get_doc("Background Job", acmes_job).has_permission("read")
    assert not frappe.get_doc("Background Job", globexs_job).has_permission("read")


def test_a_field_of_it_cannot_be_read_by_its_name(as_user, acmes_user, globexs_job):
    as_user(acmes_user)

    assert not frappe.client.get_value("Background Job", "params", globexs_job)


def test_history_is_seen_with_the_job_and_not_without(as_user, acmes_user, acmes_job, globexs_job):
    mine, theirs = people.log_entry(acmes_job), people.log_entry(globexs_job)
    as_user(acmes_user)

    assert [int(name) for name in frappe.get_list("Job Execution Log", pluck="name")] == [mine]  # a text on PostgreSQL
    assert frappe.get_doc("Job Execution Log", mine).has_permission("read")
    assert not frappe.get_doc("Job Execution Log", theirs).has_permission("read")


def test_the_organizations_room_opens_only_to_its_own_users(as_user, acmes_user, acme, globex):
    as_user(acmes_user)

    assert frappe.has_permission("Organization", doc=acme, ptype="read")
    assert not frappe.has_permission("Organization", doc=globex, ptype="read")


def test_a_user_without_user_permission_sees_nothing(as_user, acmes_job, acme):
    as_user(people.user("Job Manager"))

    assert frappe.get_list("Background Job") == []
    assert frappe.get_list("Organization") == []
    assert not frappe.get_doc("Background Job", acmes_job).has_permission("read")
    assert not frappe.has_permission("Organization", doc=acme, ptype="read")


def test_a_user_who_lost_the_permission_sees_nothing_at_once(as_user, acmes_user, acmes_job):
    as_user(acmes_user)
    assert frappe.get_list("Background Job", pluck="name") == [acmes_job]
    frappe.set_user("Administrator")
    frappe.delete_doc(
        "User Permission", frappe.db.get_value("User Permission", {"user": acmes_user}), ignore_permissions=True
    )

    frappe.set_user(acmes_user)

    assert frappe.get_list("Background Job") == []


def test_a_user_without_a_role_of_ours_may_not_list_jobs(as_user, acme, acmes_job):
    as_user(people.user(organizations=(acme,)))

    with pytest.raises(frappe.PermissionError):
        frappe.get_list("Background Job")


def test_a_system_manager_sees_all_organizations(as_user, acmes_job, globexs_job):
    as_user(people.user("System Manager"))

    assert {acmes_job, globexs_job} <= set(frappe.get_list("Background Job", pluck="name", limit=0))


def test_an_organization_whose_name_is_sql_stays_a_name(as_user, acmes_job, globexs_job):
    odd = people.organization("O'Neil 100% \\ \") OR true -- ")
    theirs = people.job(odd)
    as_user(people.user("Job User", organizations=(odd,)))

    assert frappe.get_list("Background Job", pluck="name") == [theirs]


def test_a_user_permission_for_another_doctype_gives_no_jobs(as_user, acme, acmes_job):
    user = people.user("Job User")
    people.permit(user, acme, apply_to_all_doctypes=0, applicable_for="ToDo")
    as_user(user)

    assert tenancy.permitted_organizations(user) == frozenset()
    assert frappe.get_list("Background Job") == []


# Job types that name the roles that may see them ---------------------------------------------------------------------------


@pytest.fixture
def secret_type():
    role = frappe.get_doc(doctype="Role", role_name=f"Payroll {frappe.generate_hash(length=6)}").insert().name
    doc = frappe.get_doc(
        doctype="Job Type", type_name="payroll_test", handler="app.pay", roles=[{"role": role}]
    ).insert()
    return doc.name, role


def test_a_type_with_roles_is_seen_by_those_who_have_one(as_user, acme, secret_type):
    job_type, role = secret_type
    job = people.job(acme, job_type)
    as_user(people.user("Job User", role, organizations=(acme,)))

    assert frappe.get_list("Background Job", pluck="name") == [job]
    assert job_type in frappe.get_list("Job Type", pluck="name")
    assert frappe.get_doc("Job Type", job_type).has_permission("read")


def test_and_by_nobody_else(as_user, acmes_user, acme, secret_type):
    job_type, _ = secret_type
    job = people.job(acme, job_type)
    entry = people.log_entry(job)
    as_user(acmes_user)

    assert frappe.get_list("Background Job") == []
    assert frappe.get_list("Job Execution Log") == []
    assert job_type not in frappe.get_list("Job Type", pluck="name")
    assert not frappe.get_doc("Background Job", job).has_permission("read")
    assert not frappe.get_doc("Job Execution Log", entry).has_permission("read")
    assert not frappe.get_doc("Job Type", job_type).has_permission("read")


# Which organization is meant -------------------------------------------------------------------------------------------------


def test_the_only_permitted_organization_is_the_default(acme, acmes_user):
    assert tenancy.default_organization(acmes_user) == acme


def test_of_several_the_one_that_is_marked_is_the_default(acme, globex):
    assert tenancy.default_organization(people.user("Job User", organizations=(acme, globex), default=globex)) == globex


def test_of_several_none_is_the_default_and_the_error_says_what_to_do(acme, globex):
    user = people.user("Job User", organizations=(acme, globex))

    with pytest.raises(InvalidJob, match=r"Pass organization=.*User Permissions for Organization as the default"):
        tenancy.required_organization(user, None)


def test_a_user_may_act_for_permitted_organizations_only(acmes_user, acme, globex):
    assert tenancy.may_act_for(acmes_user, acme)
    assert not tenancy.may_act_for(acmes_user, globex)
    assert tenancy.may_act_for("Administrator", globex)


def test_a_permission_that_was_rolled_back_is_no_permission(acme):
    user = people.user("Job User")
    people.permit(user, acme)
    assert tenancy.may_act_for(user, acme)

    frappe.db.rollback()

    assert not tenancy.may_act_for(user, acme)


def test_a_loop_asks_the_database_once(acmes_user, acme, monkeypatch):
    reads = []
    read = tenancy._read_permissions
    monkeypatch.setattr(tenancy, "_read_permissions", lambda user: reads.append(user) or read(user))

    for _ in range(10):
        assert tenancy.may_act_for(acmes_user, acme)

    assert reads == [acmes_user]


# Suspended and deleted -----------------------------------------------------------------------------------------------------


def test_a_suspended_organization_is_listed_and_others_are_not(globex):
    suspended = people.organization("Late payer", suspended=1)

    with engine().store.session() as session:
        listed = briefing.read(session).suspended

    assert suspended in listed
    assert globex not in listed


def test_an_organization_that_was_deleted_does_not_exist(acme):
    people.job(acme)
    assert tenancy.exists(acme)

    frappe.delete_doc("Organization", acme)

    assert not tenancy.exists(acme)
