"""The rooms of Frappe's Socket.IO server in which jobs are told of. Frappe asks for permission of the document at the door.

Where a room lets in more people than may see the jobs, less is said in it: nothing about types that only some roles may see,
and only a count where the tenant doctype is another app's, whose rules are not ours.
"""

from __future__ import annotations

import time
from typing import Any

import frappe
import redis
from frappe.realtime import can_subscribe_doc as may_enter

from job_engine.site import organization, redis_queue, settings, tenancy
from job_engine.site.asking import ask
from job_engine.store.sql import SqlStore

ADMINISTRATORS = f"doc:{settings.DOCTYPE}/{settings.DOCTYPE}"

WATCHED_SECONDS = 86_400  # so long a job counts as watched after somebody has entered its room
MOST_WATCHED = 1_000
FRESH_SECONDS = 5.0


class Rooms:
    """Which rooms may hear what. Made in a thread that has frappe.local; used in those of a runner that have none."""

    def __init__(self, store: SqlStore):
        self._doctype = tenancy.tenant_doctype()
        self._store = store
        self._reserved: frozenset[str] = frozenset()  # types that only some roles may see
        self._is_strict = False  # the room lets in only those who may see the organization's jobs
        self._read_at = 0.0

    def of_organization(self, name: str) -> str:
        return f"doc:{self._doctype}/{name}"

    def may_name(self, job_type: str) -> bool:
        """Whether an organization's room may hear more of such a job than that there was one."""
        if time.monotonic() - self._read_at > FRESH_SECONDS:
            with self._store.session() as session:
                reserved = ask(
                    "SELECT DISTINCT parent FROM `tabJob Type Role` WHERE parenttype = 'Job Type'", session=session
                )
                self._is_strict = organization.is_ours(self._doctype, session)
            self._reserved = frozenset(job_type for (job_type,) in reserved)
            self._read_at = time.monotonic()
        return self._is_strict and job_type not in self._reserved


def of_job(name: str) -> str:
    return f"doc:Background Job/{name}"


# Who watches which job: in a flood, only those jobs are told of one by one ----------------------------------------------


@frappe.whitelist(allow_guest=True)
def can_subscribe_doc(doctype: str, docname: str) -> bool:
    """In the place of frappe.realtime.can_subscribe_doc, which the Socket.IO server asks before it lets a client in."""
    allowed = may_enter(doctype, docname)
    if allowed and doctype == "Background Job":
        _note_watched(docname)
    return allowed


def _note_watched(name: str) -> None:
    now = time.time()
    try:
        with redis_queue.connection().pipeline(transaction=False) as pipeline:
            pipeline.zadd(watched_key(), {name: now})
            pipeline.zremrangebyscore(watched_key(), 0, now - WATCHED_SECONDS)
            pipeline.zremrangebyrank(watched_key(), 0, -MOST_WATCHED - 1)
            pipeline.expire(watched_key(), WATCHED_SECONDS)
            pipeline.execute()
    except redis.exceptions.RedisError:
        pass  # then nothing is published either; clients ask for the state when they are connected again


def watched(connection: Any, key: str) -> set[str]:
    """The jobs that somebody watches: the last thousand."""
    return {name.decode() for name in connection.zrange(key, 0, -1)}


def watched_key() -> str:
    return redis_queue.key("watched")
