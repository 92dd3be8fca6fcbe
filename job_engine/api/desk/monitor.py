"""What the Job Monitor asks for."""

from __future__ import annotations

from typing import Any, Literal

import frappe

from job_engine.api.method import method
from job_engine.api.permission import check_organization
from job_engine.site import engine, monitor

Range = Literal["1h", "24h", "7d"]


@method(managers=True, documented=False)
def read(span: Range = "24h", organization: str | None = None) -> dict[str, Any]:
    """Everything that the page shows: one call for each refresh.

    span: How far back it looks.
    organization: One of the caller's. Left out: all that the caller may see.
    """
    if organization:
        check_organization(organization)
    return monitor.read(engine(), frappe.session.user, span, organization or None)
