"""No organization may fill the queue for the others: each has a limit of waiting jobs."""

from __future__ import annotations

import time

import frappe
from frappe import _

from job_engine.core.errors import JobEngineError
from job_engine.site import settings

FRESH_SECONDS = 5.0
_SHARE = 4  # of the room that is left, so much (a quarter) is used up before the jobs are counted again

_room: dict[
    tuple[str, str], tuple[float, int]
] = {}  # by site and organization: when counted, and how many may still come


class QueueFull(JobEngineError):
    """The organization has too many waiting jobs."""

    http_status_code = 429


def check(organization: str | None, n: int) -> None:
    """Raise QueueFull where the organization would have too many waiting jobs. Counts seldom: every enqueue asks."""
    most = settings.read().max_waiting_jobs
    key = (frappe.local.site, organization or "", most)
    at, room = _room.get(key, (0.0, 0))
    if room < n or time.monotonic() - at > FRESH_SECONDS:
        waiting = _waiting(organization or "", most)
        if waiting + n > most:
            _room.pop(key, None)
            raise QueueFull(
                _(
                    "Queue full: {0} has {1} waiting jobs and {2} more were asked for; the limit is {3}. "
                    "Wait until some have run, or let an administrator raise the limit in Job Engine Settings."
                ).format(organization, waiting, n, most)
            )
        at, room = time.monotonic(), max(n, (most - waiting) // _SHARE)
    _room[key] = at, room - n


def _waiting(organization: str, most: int) -> int:
    """At most `most`: more need not be counted."""
    found = frappe.db.sql(
        "SELECT COUNT(*) FROM (SELECT 1 FROM `tabBackground Job` WHERE organization = %s"
        " AND status IN ('Pending', 'Queued', 'Failed', 'Timed Out') LIMIT %s) waiting",
        (organization, most + 1),
    )
    return int(found[0][0])
