"""What `bench run-tests --app job_engine` runs: the promises to a caller. The suite itself is pytest's (`make test`)."""

from __future__ import annotations

import frappe
from frappe.tests.utils import FrappeTestCase

import job_engine
from job_engine.core.states import Status
from job_engine.site import engine

test_ignore = ["Organization", "Job Type", "User"]  # Frappe would make records of every doctype that is linked


class TestBackgroundJob(FrappeTestCase):
    def setUp(self) -> None:
        name = f"Unit test {frappe.generate_hash(length=8)}"
        self.organization = frappe.get_doc(doctype="Organization", organization_name=name).insert().name

    def enqueue(self, **options):
        """Due in an hour: no worker of the bench may take it, should somebody commit."""
        options = {"organization": self.organization, "run_after": 3600, **options}
        return engine().enqueue("frappe.utils.data.add_days", {"date": "2026-01-31", "days": 1}, **options)

    def test_a_job_exists_in_the_callers_transaction_and_not_after_a_rollback(self):
        frappe.db.savepoint("clean")
        job = self.enqueue()
        self.assertEqual(frappe.db.get_value("Background Job", job.name, "status"), Status.PENDING)

        frappe.db.rollback(save_point="clean")

        self.assertFalse(frappe.db.exists("Background Job", job.name))

    def test_the_same_job_is_made_once(self):
        first, second = self.enqueue(dedup_key=self.organization), self.enqueue(dedup_key=self.organization)

        self.assertEqual(first.name, second.name)
        self.assertTrue(first.created)
        self.assertFalse(second.created)

    def test_its_history_begins_with_its_creation(self):
        (created,) = engine().history(self.enqueue().name)

        self.assertEqual((created.from_status, created.to_status), (None, Status.PENDING))

    def test_a_job_is_not_made_by_hand(self):
        with self.assertRaises(frappe.ValidationError):
            frappe.get_doc(doctype="Background Job", organization=self.organization).insert()

    def test_frappe_enqueue_has_a_durable_twin(self):
        frappe.get_doc("Job Engine Settings").update({"default_organization": self.organization}).save()

        job = job_engine.enqueue("frappe.utils.data.add_days", queue="long", date="2026-01-31", days=1)

        self.assertEqual((job.queue, job.organization), ("long", self.organization))
