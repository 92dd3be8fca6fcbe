"""What Desk's own pages ask for. Its shape follows them and is no promise to programs: it is in no OpenAPI document."""

from __future__ import annotations

from typing import Any

import frappe

from job_engine.api import limits, permission
from job_engine.api.errors import InvalidArgument, answered
from job_engine.site import engine, monitor
from job_engine.site.monitor_counters import SPANS


@frappe.whitelist()
def job_monitor(span: str = "1h", organization: str | None = None) -> dict[str, Any]:
    """Everything that the Job Monitor shows: one call for each refresh."""
    with answered():
        permission.check_role(managers=True)
        limits.check("read")
        if span not in SPANS:
            raise InvalidArgument(f"span is {span!r}; choose one of: {', '.join(SPANS)}.")
        if organization:
            permission.check_organization(organization)
        return monitor.read(engine(), frappe.session.user, span, organization or None)
