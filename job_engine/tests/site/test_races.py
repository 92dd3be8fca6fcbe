"""What may go wrong between a handler, its neighbours in the group, and the database. The handlers are plain functions below."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import frappe
import pytest
from pymysql.constants.COMMAND import COM_QUERY

from job_engine import JobContext
from job_engine.core.errors import JobTimeout
from job_engine.core.job import Job
from job_engine.core.states import Status
from job_engine.runner import Runner
from job_engine.site import redis_queue, wakeups
from job_engine.site.engines import RunnersEngine
from job_engine.site.group import FrappeSession
from job_engine.tests.site import people
from job_engine.tests.site.bench_workers import QUEUE as WORKERS_QUEUE
from job_engine.tests.site.bench_workers import BenchWorkers, wait_until
from job_engine.tests.site.jobs import EFFECTS, effect
from job_engine.tests.site.running import QUEUE, Bench
from job_engine.worker_id import new_worker_id

CALLED: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_called() -> None:
    CALLED.clear()


def enqueue(here: Bench, handler: Callable[..., Any], n: int = 1, **options: Any) -> list[Job]:
    """All of them quick, of one type, and enqueued at once: they share a transaction."""
    return [here.enqueue(handler, {"i": i}, dedup_window=0, **{"max_attempts": 1, **options}) for i in range(n)]


def neighbours(here: Bench, n: int = 3) -> list[Job]:
    """Quick jobs whose writes wait for the group's commit. The first of a type is committed by itself."""
    return [here.enqueue("test.effect", {"value": str(i)}) for i in range(n + 1)]


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


def expect_once(here: Bench, jobs: list[Job]) -> None:
    assert [(here.get(j).status, len(here.effects(j))) for j in jobs] == [(Status.COMPLETED, 1)] * len(jobs)


# What a handler sees -------------------------------------------------------------------------------------------------------


def sees_its_document(ctx: JobContext, i: int = 0) -> None:
    assert frappe.db.sql("SELECT COUNT(*) FROM `tabBackground Job` WHERE name = %s", ctx.name)[0][0]


def test_a_handler_sees_what_was_committed_with_its_job(here: Bench) -> None:
    """However long ago the runner has last looked at the site's database."""
    frappe.db.commit()
    runners = RunnersEngine.for_runners(alone=False)
    runner = Runner(runners, new_worker_id(), (QUEUE,))
    try:
        frappe.db.sql(
            "SELECT COUNT(*) FROM `tabOrganization`"
        )  # while lingering, a runner looks whether the site waits
        with somebody_else():
            (job,) = enqueue(here, sees_its_document)
        assert runner.run_batch(10) == 1
    finally:
        runner.close()
        runners.close()
    assert here.get(job).last_error is None


# The user ------------------------------------------------------------------------------------------------------------------


def checkpoints(ctx: JobContext, i: int = 0) -> list[str]:
    before = frappe.session.user
    frappe.local.form_dict.mine = True
    ctx.checkpoint["i"] = i
    ctx.save_checkpoint()
    effect(ctx)
    return [before, frappe.session.user, str(frappe.local.form_dict.mine)]


def test_a_checkpoint_does_not_make_somebody_else_of_the_handler(here: Bench) -> None:
    user = people.user("Job User", organizations=(here.organization,))
    frappe.db.commit()
    jobs = enqueue(here, checkpoints, 3, user=user)
    here.run()
    assert [here.get(j).result for j in jobs] == [[user, user, "True"]] * 3
    expect_once(here, jobs)


def wants_something_afterwards(ctx: JobContext, i: int = 0) -> None:
    frappe.local.mine = i
    frappe.db.before_commit.add(lambda: CALLED.append(("before", frappe.session.user, frappe.local.mine)))
    frappe.db.after_commit.add(lambda: CALLED.append(("after", frappe.session.user, frappe.local.mine)))


def test_what_follows_the_commit_happens_in_the_name_of_the_jobs_own_user(here: Bench) -> None:
    """And with what the handler has left for it in frappe.local, where Frappe keeps webhooks until then."""
    user = people.user("Job User", organizations=(here.organization,))
    frappe.db.commit()
    enqueue(here, wants_something_afterwards, 3, user=user)
    here.run()
    assert sorted(CALLED) == [(when, user, i) for when in ("after", "before") for i in range(3)]


@frappe.request_cache
def whoever_asks() -> str:
    """As apps write it: in a request there is one user."""
    return frappe.session.user


def asks_who_it_is(ctx: JobContext, i: int = 0) -> str:
    return whoever_asks()


def test_what_is_cached_for_a_request_is_not_told_to_the_next_user(here: Bench) -> None:
    users = [people.user("Job User", organizations=(here.organization,)) for _ in range(2)]
    frappe.db.commit()
    frappe.get_installed_apps()  # makes the cache, as every start of a runner does
    jobs = [enqueue(here, asks_who_it_is, user=user)[0] for user in users]
    here.run()
    assert [here.get(j).result for j in jobs] == users


# Callbacks -----------------------------------------------------------------------------------------------------------------


def fails_without_a_statement(ctx: JobContext, i: int = 0) -> None:
    frappe.db.after_commit.add(lambda: CALLED.append(i))
    raise ValueError("as asked for")


def test_a_handler_that_fails_without_a_statement_leaves_no_callback(here: Bench) -> None:
    enqueue(here, fails_without_a_statement, 3)
    neighbours(here)
    here.run()
    assert CALLED == []


# Handlers that end the transaction -----------------------------------------------------------------------------------------

THE_ONE = 3  # of several jobs of one type, which is known to be quick by then, and has finished neighbours


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


# Other threads and processes ------------------------------------------------------------------------------------------------


def test_a_runners_keeper_can_judge_without_frappe_local(here: Bench) -> None:
    """It settles a job that will not stop, where the supervisor is gone."""
    job = here.enqueue("test.noop").evolve(attempts=1)
    runners = RunnersEngine.for_runners()
    runners.judge(job, JobTimeout(), 1.0)  # the runner itself has looked at the overrides by then
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(runners.judge, job, JobTimeout(), 1.0).result().status is Status.TIMED_OUT


def test_a_runner_whose_clock_is_a_little_late_takes_what_it_was_woken_for(here: Bench) -> None:
    """Two processes never agree to the millisecond what the database's time is, and nobody would wake it again."""
    (job,) = enqueue(here, plain)
    frappe.db.commit()
    runners = RunnersEngine.for_runners(alone=False)
    clock = runners.store.now
    runners.store.now = lambda: min(clock(), job.run_after - timedelta(milliseconds=50))
    runner = Runner(runners, new_worker_id(), (QUEUE,))
    try:
        assert runner.run_batch(10) == 1
    finally:
        runner.close()
        runners.close()


def test_a_worker_that_is_told_to_stop_leaves_what_waits_to_the_next(workers: BenchWorkers) -> None:
    """At once: nobody waits for the tick because of a restart."""
    workers.start()
    first = workers.enqueue("test.sleep", {"seconds": 3, "steps": 60})
    wait_until(lambda: workers.get(first).status is Status.RUNNING)
    second = workers.enqueue("test.effect")
    redis_queue.connection().delete(wakeups.pending_key(WORKERS_QUEUE, False), redis_queue.rq_key(WORKERS_QUEUE))
    workers.processes[0].terminate()
    workers.processes[0].wait(20)
    workers.start()
    workers.wait_for(second, seconds=20)


# The connection dies ------------------------------------------------------------------------------------------------------


def plain(ctx: JobContext, i: int = 0) -> None:
    effect(ctx)


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


@pytest.fixture
def pymysql() -> None:
    """These look into what PyMySQL and MariaDB do; psycopg2 waits for its answer in C, where nothing interrupts it."""
    if frappe.db.db_type == "postgres":
        pytest.skip("about PyMySQL's protocol")


# Interruptions ------------------------------------------------------------------------------------------------------------


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
