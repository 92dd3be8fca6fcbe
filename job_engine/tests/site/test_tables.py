"""The tables are what the engine needs after every migrate, also those that an older version made."""

from __future__ import annotations

import frappe
import pytest

from job_engine.site import tables


def test_an_index_of_an_older_version_is_made_anew():
    if frappe.db.db_type != "mariadb":
        pytest.skip("on PostgreSQL no index was changed")
    frappe.db.sql_ddl(
        "ALTER TABLE `tabBackground Job` DROP INDEX je_job_lease, ADD INDEX je_job_lease (status, lease_expires_at)"
    )
    try:
        tables.create()
    finally:
        found = _columns("je_job_lease")
        if len(found) == 2:
            frappe.db.sql_ddl("ALTER TABLE `tabBackground Job` DROP INDEX je_job_lease")
            tables.create()

    assert found[:2] == ["status", "lease_expires_at"]
    assert {"attempts", "progress"} <= {*found}


def _columns(index: str) -> list[str]:
    return [
        row.Column_name
        for row in frappe.db.sql("SHOW INDEX FROM `tabBackground Job`", as_dict=True)
        if row.Key_name == index
    ]
