"""Rate limits: how many requests a user may send in a minute. A site's configuration can change them:

    "job_engine_requests_per_minute": {"change": 240, "read": 1200}

0 turns a limit off. Counted for each user and not for each address, as a whole office may share one; without Redis nothing
is counted, since a job must be accepted when Redis is down.
"""

from __future__ import annotations

import time

import frappe
import redis
from frappe import _

from job_engine.api.errors import TooManyRequests

PER_MINUTE = {"change": 240, "read": 1200}
CONFIGURED = "job_engine_requests_per_minute"
_WINDOW = 60


def check(kind: str) -> None:
    """Count this request; raise TooManyRequests where it is one too many. `kind` is "change" or "read"."""
    most = limit_of(kind)
    if not most:
        return
    now = time.time()
    if _counted(kind, int(now) // _WINDOW) > most:
        wait = _WINDOW - int(now) % _WINDOW
        raise TooManyRequests(
            _("More than {0} requests in a minute. Wait {1} seconds and try again.").format(most, wait),
            retry_after=wait,
        )


def limit_of(kind: str) -> int:
    configured = frappe.conf.get(CONFIGURED) or {}
    return int(configured.get(kind, PER_MINUTE[kind]))


def _counted(kind: str, window: int) -> int:
    key = frappe.cache.make_key(f"job_engine:requests:{kind}:{frappe.session.user}:{window}")
    try:
        with frappe.cache.pipeline() as pipeline:
            pipeline.incr(key)
            pipeline.expire(key, 2 * _WINDOW)
            return int(pipeline.execute()[0])
    except redis.exceptions.RedisError:
        return 0
