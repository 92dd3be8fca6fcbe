"""The Redis of the bench's queues, spoken to without patience: it carries wake-ups, and nobody waits for those.

Frappe's own helper tries for seconds to reach a Redis that is down. An enqueue must not: the job is safe in the database,
and the tick finds it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import frappe
import redis
from frappe.utils import get_bench_id
from frappe.utils.background_jobs import generate_qname
from redis.backoff import NoBackoff
from redis.retry import Retry

PATIENCE_SECONDS = 0.5

_connections: dict[tuple[int, str], redis.Redis] = {}  # by process and address


def connection() -> redis.Redis:
    return line()()


def line() -> Callable[[], redis.Redis]:
    """Something that connects when it is called, also in a thread without frappe.local. Few runners ever need it before their
    first job has ended.
    """
    conf = frappe.local.conf
    login: dict[str, Any] = {}
    if conf.get("use_rq_auth"):
        login = {"username": conf.rq_username or get_bench_id(), "password": conf.rq_password}
    return partial(_connected, conf.redis_queue, login)


def _connected(url: str, login: dict[str, Any]) -> redis.Redis:
    key = (os.getpid(), url)
    if key not in _connections:
        _connections[key] = redis.from_url(
            url,
            socket_connect_timeout=PATIENCE_SECONDS,
            socket_timeout=PATIENCE_SECONDS,
            retry=Retry(NoBackoff(), 0),
            **login,
        )
    return _connections[key]


def key(*words: str) -> str:
    """A key of this site's in the Redis that several sites and benches may share."""
    return ":".join(("rq:job_engine", get_bench_id(), frappe.local.site, *words))


def rq_key(queue: str) -> str:
    """RQ's own list of the jobs that wait in a queue."""
    return f"rq:queue:{generate_qname(queue)}"
