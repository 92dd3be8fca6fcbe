"""Jobs that share a transaction with their neighbours in the group, for tests of what may go wrong between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import frappe

from job_engine import JobContext
from job_engine.core.job import Job
from job_engine.core.states import Status
from job_engine.tests.site.jobs import effect
from job_engine.tests.site.running import Bench

THE_ONE = 3  # of several jobs of one type, which is known to be quick by then, and has finished neighbours


def enqueue(here: Bench, handler: Callable[..., Any], n: int = 1, **options: Any) -> list[Job]:
    """All of them quick, of one type, and enqueued at once: they share a transaction."""
    return [here.enqueue(handler, {"i": i}, dedup_window=0, **{"max_attempts": 1, **options}) for i in range(n)]


def neighbours(here: Bench, n: int = 3) -> list[Job]:
    """Quick jobs whose writes wait for the group's commit. The first of a type is committed by itself."""
    return [here.enqueue("test.effect", {"value": str(i)}) for i in range(n + 1)]


def expect_once(here: Bench, jobs: list[Job]) -> None:
    assert [(here.get(j).status, len(here.effects(j))) for j in jobs] == [(Status.COMPLETED, 1)] * len(jobs)


@contextmanager
def somebody_else() -> Iterator[None]:
    """What is done here is another process's doing: on a connection of its own, and committed."""
    mine = frappe.local.db
    frappe.connect(set_admin_as_user=False)
    try:
        yield
        frappe.db.commit()
    finally:
        frappe.local.db.close()
        frappe.local.db = mine


def plain(ctx: JobContext, i: int = 0) -> None:
    effect(ctx)
