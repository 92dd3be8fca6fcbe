"""Connections that die in a commit, and questions that are interrupted before their answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import frappe
import pytest
from pymysql.constants.COMMAND import COM_QUERY

from job_engine import JobContext
from job_engine.site.group import FrappeSession
from job_engine.tests.site.bench_workers import wait_until
from job_engine.tests.site.jobs import EFFECTS, effect
from job_engine.tests.site.running import Bench
from job_engine.tests.site.sharing import THE_ONE, enqueue, expect_once, plain


@pytest.fixture
def pymysql() -> None:
    """These look into what PyMySQL and MariaDB do; psycopg2 waits for its answer in C, where nothing interrupts it."""
    if frappe.db.db_type == "postgres":
        pytest.skip("about PyMySQL's protocol")


@pytest.mark.parametrize("committed", [False, True], ids=["before the commit", "before its answer"])
def test_a_connection_that_is_lost_in_the_commit_costs_nobody_an_attempt(
    here: Bench, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    commit, left = FrappeSession.commit, [1]

    def dying(session: FrappeSession) -> None:
        if left and here_is_written(session):
            left.pop()
            if committed:
                session.execute("COMMIT")
            getattr(session.connection, "_force_close", session.connection.close)()
        commit(session)

    def here_is_written(session: FrappeSession) -> bool:
        return bool(session.value(f"SELECT COUNT(*) FROM {EFFECTS} WHERE kind = 'ran'") > 1)

    monkeypatch.setattr(FrappeSession, "commit", dying)
    jobs = enqueue(here, plain, 6)
    here.run()
    assert not left
    assert [here.get(j).attempts for j in jobs] == [1] * 6
    expect_once(here, jobs)


def is_interrupted_before_the_answer(ctx: JobContext, i: int = 0, swallow: bool = False) -> None:
    effect(ctx)
    if i == THE_ONE:
        frappe.db._conn._execute_command(COM_QUERY, "SELECT 'an answer to another question'")
        try:
            time.sleep(30)
        except BaseException:
            if not swallow:
                raise


def is_interrupted_and_goes_on(ctx: JobContext, i: int = 0) -> None:
    is_interrupted_before_the_answer(ctx, i, swallow=True)


@pytest.mark.usefixtures("pymysql")
@pytest.mark.parametrize("handler", [is_interrupted_before_the_answer, is_interrupted_and_goes_on])
def test_no_answer_to_an_interrupted_question_is_taken_for_another(here: Bench, handler: Callable[..., Any]) -> None:
    jobs = enqueue(here, handler, 6, timeout=1)
    here.run()
    assert "ran longer than its timeout" in (here.get(jobs[THE_ONE]).last_error or "")
    assert here.effects(jobs[THE_ONE]) == []
    expect_once(here, [job for i, job in enumerate(jobs) if i != THE_ONE])


def sleeps_in_the_database(ctx: JobContext, i: int = 0) -> None:
    effect(ctx)
    frappe.db.sql("SELECT SLEEP(30), 'job_engine_test_sleep'")


@pytest.mark.usefixtures("pymysql")
def test_the_database_does_not_go_on_with_what_was_interrupted(here: Bench) -> None:
    (job,) = enqueue(here, sleeps_in_the_database, timeout=1)
    here.run()
    assert "ran longer than its timeout" in (here.get(job).last_error or "")
    at_work = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%%'"
    wait_until(lambda: frappe.db.sql(at_work)[0][0] == 0, 5.0)
