"""Numbers and charts of the workspace that come from the counters: a count of rows would take long where there are many.

Frappe's widgets call these with arguments of their own, none of which changes what is counted.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import frappe
from frappe.utils import format_datetime, get_datetime_in_timezone

from job_engine.api.method import method
from job_engine.site import engine, monitor_counters
from job_engine.site.monitor_counters import SPANS, Counted
from job_engine.site.monitor_scope import Scope

SHOWN_TYPES = 10


@method(documented=False)
def completed_in_24_hours(filters: Any = None) -> dict[str, Any]:
    """For a number card. Whoever clicks it comes to the list of what completed."""
    return {
        "value": _counted("24h").total.completed,
        "fieldtype": "Int",
        "route": ["List", "Background Job"],
        "route_options": {"status": "Completed"},
    }


@method(documented=False)
def throughput(
    chart_name: Any = None, filters: Any = None, refresh: Any = None, time_interval: Any = None, timespan: Any = None,
    from_date: Any = None, to_date: Any = None, heatmap_year: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """For a chart: attempts by how they ended, of the last 24 hours."""
    counted = _counted("24h")
    return {
        "labels": [_label(start) for start in counted.starts],
        "datasets": [
            {"name": frappe._("Completed"), "values": [sums.completed for sums in counted.bars]},
            {"name": frappe._("Tried again"), "values": [sums.retried for sums in counted.bars]},
            {
                "name": frappe._("Dead Letter", context="Legend of a chart"),
                "values": [sums.dead for sums in counted.bars],
            },
        ],
    }


@method(documented=False)
def failures_by_type(
    chart_name: Any = None, filters: Any = None, refresh: Any = None, time_interval: Any = None, timespan: Any = None,
    from_date: Any = None, to_date: Any = None, heatmap_year: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """For a chart: the types whose attempts failed the most in 7 days."""
    worst = [
        (name, sums.retried + sums.dead)
        for name, sums in monitor_counters.worst_first(_counted("7d").by_type)
        if sums.retried or sums.dead
    ][:SHOWN_TYPES]
    return {
        "labels": [name for name, _ in worst],
        "datasets": [{"name": frappe._("Failed attempts"), "values": [n for _, n in worst]}],
    }


def _counted(span: str) -> Counted:
    site = engine()
    with site.store.session() as session:
        scope = Scope.of(frappe.session.user)
        return monitor_counters.count(site, session, SPANS[span], scope, site.store.now())


def _label(start: datetime) -> str:
    zone = frappe.db.get_value("User", frappe.session.user, "time_zone") or frappe.utils.get_system_timezone()
    return format_datetime(start.astimezone(get_datetime_in_timezone(zone).tzinfo), "HH:mm")
