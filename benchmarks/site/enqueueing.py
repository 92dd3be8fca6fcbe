"""How fast jobs come in, in a request's way: one by one or in bulk, with the commit that ends the request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import frappe

import job_engine
from benchmarks import report
from benchmarks.report import Figure
from benchmarks.rounds import Plan
from benchmarks.site import bench
from benchmarks.site.contenders import empty_queue
from benchmarks.site.jobs import note

_GROUP = "Enqueue"
_ROUNDS = 5  # for each of the plan's, and each of a fifth: what else the machine does then meets both sides alike


def measure(plan: Plan) -> Iterator[Figure]:
    jobs = plan.jobs // 10 // _ROUNDS
    frappe.get_doc("Job Engine Settings").update({"default_organization": bench.organization("Callers")}).save()
    frappe.db.commit()
    plain, single, bulk, each, plain_each = [], [], [], [], []
    numbers = iter(range(10**9))
    _rate(50, lambda: _one_by_one(50, numbers))  # imports, and a connection to Redis
    _rate(50, lambda: _plain(50, numbers))
    for _ in range(plan.rounds * _ROUNDS):
        plain.append(_rate(jobs, lambda: _plain(jobs, numbers)))
        single.append(_rate(jobs, lambda: _one_by_one(jobs, numbers)))
        bulk.append(_rate(jobs, lambda: _in_bulk(jobs, numbers)))
        few = max(50, jobs // 4)
        each.append(_rate(few, lambda few=few: _one_by_one(few, numbers, commit_each=True)))
        plain_each.append(_rate(few, lambda few=few: _plain(few, numbers, after_commit=True)))
    yield report.ratio(_GROUP, "one by one, in one transaction", single, plain, "frappe.enqueue", 1)
    yield report.ratio(_GROUP, "enqueue_many, duplicates checked", bulk, plain, "frappe.enqueue", 3)
    yield report.ratio(
        _GROUP, "one by one, each with a commit", each, plain_each, "frappe.enqueue of a transaction that writes"
    )


def _rate(jobs: int, enqueue: Callable[[], None]) -> float:
    start = perf_counter()
    enqueue()
    frappe.db.commit()
    seconds = perf_counter() - start
    frappe.db.sql("DELETE FROM `tabBackground Job` WHERE status = 'Queued'")  # every round starts from the same table
    frappe.db.commit()
    empty_queue()
    return jobs / seconds


def _plain(jobs: int, numbers: Iterator[int], after_commit: bool = False) -> None:
    for _ in range(jobs):
        number = next(numbers)
        if after_commit:  # what a request that uses frappe.enqueue with care does: it writes, commits, and then pushes
            frappe.db.sql("UPDATE `tabSingles` SET value = %s WHERE field = 'job_engine_benchmark'", (number,))
        frappe.enqueue(note, queue=bench.QUEUE, enqueue_after_commit=after_commit, number=number)
        if after_commit:
            frappe.db.commit()


def _one_by_one(jobs: int, numbers: Iterator[int], commit_each: bool = False) -> None:
    for _ in range(jobs):
        job_engine.enqueue(note, queue=bench.QUEUE, number=next(numbers))
        if commit_each:
            frappe.db.commit()


def _in_bulk(jobs: int, numbers: Iterator[int]) -> None:
    job_engine.enqueue_many(note, [{"number": next(numbers)} for _ in range(jobs)], queue=bench.QUEUE)
