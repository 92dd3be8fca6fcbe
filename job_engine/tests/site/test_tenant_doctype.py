"""The doctype of the site's organizations is gone: deleted in Desk, or dropped with the app that brought it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import frappe
import pytest

from job_engine.core.errors import InvalidJob
from job_engine.core.states import Status
from job_engine.site import engine, organization, tenancy
from job_engine.tests.site.running import Bench

DOCTYPE, BRANCH = "Job Engine Test Branch", "North"


def _deleted_in_desk() -> None:
    """Frappe asks nobody, and leaves the table where it is."""
    frappe.delete_doc("DocType", DOCTYPE)


def _dropped_with_its_app() -> None:
    frappe.delete_doc("DocType", DOCTYPE, ignore_on_trash=True, force=True)
    frappe.db.commit()
    frappe.db.sql_ddl(f"DROP TABLE `tab{DOCTYPE}`")


@pytest.fixture(params=[_deleted_in_desk, _dropped_with_its_app])
def delete(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, connected: str
) -> Iterator[Callable[[], None]]:
    """A tenant doctype of the test's own, as if the settings named it: other processes must not hear of it."""
    frappe.get_doc(
        doctype="DocType",
        name=DOCTYPE,
        module="Job Engine",
        custom=1,
        autoname="prompt",
        fields=[{"fieldname": "disabled", "fieldtype": "Check", "label": "Disabled"}],
        permissions=[{"role": "System Manager", "read": 1}],
    ).insert()
    frappe.get_doc(doctype=DOCTYPE, name=BRANCH).insert()
    frappe.db.commit()
    monkeypatch.setattr(tenancy, "tenant_doctype", lambda: DOCTYPE)
    engine().store.controls()  # as every claim does: how to ask is remembered

    def gone() -> None:
        request.param()
        frappe.db.commit()

    yield gone
    frappe.db.rollback()
    frappe.set_user("Administrator")
    frappe.delete_doc("DocType", DOCTYPE, force=True)
    frappe.db.commit()
    frappe.db.sql_ddl(f"DROP TABLE IF EXISTS `tab{DOCTYPE}`")
    frappe.db.delete("User Permission", {"allow": DOCTYPE})
    frappe.db.delete("Background Job", {"organization": BRANCH})
    frappe.db.commit()


def test_its_jobs_end_in_dead_letter_and_say_what_to_do(here: Bench, delete: Callable[[], None]):
    job = here.enqueue("test.effect", organization=BRANCH)
    frappe.db.commit()
    delete()

    here.run()

    dead = here.get(job)
    assert (dead.status, dead.error_type, dead.attempts) == (Status.DEAD_LETTER, "Permanent", 1)
    assert dead.last_error == (
        f"NotAdmitted: Organization not found: the doctype {DOCTYPE}, of which {BRANCH} was one, does not exist any more."
        " Name another one in Job Engine Settings, then retry the job."
    )
    assert here.effects(job) == []


def test_its_users_still_see_their_jobs(
    here: Bench, delete: Callable[[], None], as_user: Callable[[str], None], person: Callable[..., str]
):
    user = person("Job User")
    frappe.get_doc(doctype="User Permission", user=user, allow=DOCTYPE, for_value=BRANCH).insert()
    job = here.enqueue("test.effect", organization=BRANCH, user=user)
    frappe.db.commit()
    delete()
    here.run()

    as_user(user)

    assert [row.name for row in frappe.get_list("Background Job")] == [job.name]
    assert frappe.get_doc("Background Job", job.name).has_permission("read")
    assert "does not exist any more" in engine().explain(job.name)


def test_who_names_no_organization_is_told_what_is_missing(here: Bench, delete: Callable[[], None]):
    delete()

    with pytest.raises(InvalidJob, match="No organization is named"):
        here.enqueue("test.effect", organization=None)


def test_another_doctype_can_take_its_place(here: Bench, delete: Callable[[], None], monkeypatch: pytest.MonkeyPatch):
    job = here.enqueue("test.effect", organization=BRANCH)
    frappe.db.commit()
    delete()
    here.run()
    monkeypatch.setattr(tenancy, "tenant_doctype", lambda: organization.NAME)
    frappe.get_doc(doctype=organization.NAME, organization_name=BRANCH).insert()
    frappe.db.commit()

    try:
        engine().retry(job.name)
        here.run()
        assert here.get(job).status is Status.COMPLETED
    finally:
        frappe.delete_doc(organization.NAME, BRANCH, force=True)
        frappe.db.commit()
