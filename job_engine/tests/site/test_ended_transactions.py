"""Handlers that end the transaction which they share with their neighbours, or lose it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import frappe
import pytest

from job_engine import JobContext
from job_engine.core.states import Status
from job_engine.tests.site.jobs import effect
from job_engine.tests.site.running import Bench
from job_engine.tests.site.sharing import THE_ONE, enqueue, expect_once, neighbours, somebody_else

CALLED: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_called() -> None:
    CALLED.clear()


def commits_first(ctx: JobContext, i: int = 0) -> None:
    if i == THE_ONE:
        frappe.db.commit()
    effect(ctx)


def rolls_back_first(ctx: JobContext, i: int = 0) -> None:
    if i == THE_ONE:
        frappe.db.rollback()
    effect(ctx)


def commits_in_sql(ctx: JobContext, i: int = 0) -> None:
    effect(ctx)
    if i == THE_ONE:
        frappe.db.sql("commit")


def rolls_back_in_sql(ctx: JobContext, i: int = 0) -> None:
    if i == THE_ONE:
        effect(ctx)
        frappe.db.sql("rollback")
    effect(ctx)


def changes_a_table(ctx: JobContext, i: int = 0) -> None:
    if i == THE_ONE:
        frappe.db.sql("CREATE TABLE IF NOT EXISTS `__job_engine_test_ddl` (id int)")
        frappe.db.sql("DROP TABLE `__job_engine_test_ddl`")
    effect(ctx)


def changes_a_table_as_frappe_does(ctx: JobContext, i: int = 0) -> None:
    effect(ctx)
    if i == THE_ONE:
        frappe.db.sql_ddl("CREATE TABLE IF NOT EXISTS `__job_engine_test_ddl` (id int)")
        frappe.db.sql_ddl("DROP TABLE `__job_engine_test_ddl`")


def uses_a_savepoint(ctx: JobContext, i: int = 0) -> None:
    effect(ctx)
    frappe.db.savepoint("mine")
    effect(ctx, "ran")
    frappe.db.rollback(save_point="mine")


@pytest.mark.parametrize(
    "handler",
    [
        commits_first,
        rolls_back_first,
        commits_in_sql,
        rolls_back_in_sql,
        changes_a_table,
        changes_a_table_as_frappe_does,
        uses_a_savepoint,
    ],
)
def test_a_handler_may_end_the_transaction_as_it_likes(here: Bench, handler: Callable[..., Any]) -> None:
    """Its neighbours are committed or given back with it, and their writes are there once."""
    jobs = enqueue(here, handler, 6)
    here.run()
    assert [here.get(j).last_error for j in jobs] == [None] * 6
    expect_once(here, jobs)


def rolls_back_after_others(ctx: JobContext, i: int = 0) -> None:
    if i == THE_ONE:
        frappe.db.rollback()
    frappe.db.after_commit.add(lambda: CALLED.append(i))


def test_what_jobs_want_after_their_commit_survives_a_neighbours_rollback(here: Bench) -> None:
    jobs = enqueue(here, rolls_back_after_others, 6)
    here.run()
    assert [here.get(j).status for j in jobs] == [Status.COMPLETED] * 6
    assert sorted(CALLED) == [0, 1, 2, 3, 4, 5]


def swallows_a_deadlock(ctx: JobContext, i: int = 0) -> None:
    effect(ctx)
    if i == THE_ONE and ctx.attempt == 1:
        frappe.db._conn.cursor().execute("ROLLBACK")  # as the database does with the victim of a deadlock


def test_a_deadlock_that_a_handler_has_caught_harms_nobody(here: Bench) -> None:
    jobs = enqueue(here, swallows_a_deadlock, 6, max_attempts=2)
    here.run()
    assert "had ended before the handler did" in (here.get(jobs[THE_ONE]).last_error or "")
    assert here.get(jobs[THE_ONE]).status is Status.FAILED
    expect_once(here, [job for i, job in enumerate(jobs) if i != THE_ONE])


def replaces_the_connection(ctx: JobContext, i: int = 0) -> None:
    effect(ctx)
    if i == THE_ONE:
        frappe.connect()
        effect(ctx)


def test_a_handler_that_replaces_the_connection_takes_nothing_with_it(here: Bench) -> None:
    jobs = enqueue(here, replaces_the_connection, 6)
    here.run()
    assert "has closed or replaced the connection" in (here.get(jobs[THE_ONE]).last_error or "")
    assert here.effects(jobs[THE_ONE]) == []
    expect_once(here, [job for i, job in enumerate(jobs) if i != THE_ONE])


def cannot_commit(ctx: JobContext, i: int = 0) -> None:
    if i == THE_ONE:
        frappe.db.before_commit.add(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            frappe.db.commit()
        frappe.db.rollback()
    effect(ctx)


def test_neighbours_of_a_commit_that_failed_run_again_at_once(here: Bench) -> None:
    """And nobody charges them for it."""
    jobs = enqueue(here, cannot_commit, 6)
    here.run()
    assert [here.get(j).attempts for j in jobs] == [1] * 6
    expect_once(here, jobs)


def goes_on_without_its_lease(ctx: JobContext, i: int = 0) -> None:
    with somebody_else():
        frappe.db.sql("UPDATE `tabBackground Job` SET lease_owner = 'another' WHERE name = %s", ctx.name)
    for _ in range(3):
        effect(ctx)
        try:
            frappe.db.commit()
        except BaseException:
            CALLED.append("refused")
    effect(ctx)


def test_a_handler_without_its_lease_commits_nothing_however_often_it_tries(here: Bench) -> None:
    (job,) = enqueue(here, goes_on_without_its_lease)
    others = neighbours(here)
    here.run()
    assert CALLED == ["refused"] * 3
    assert here.effects(job) == []
    expect_once(here, others)
