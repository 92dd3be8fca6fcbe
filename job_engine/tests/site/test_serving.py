"""Whether somebody takes jobs out of a queue of this bench, and what an operator is told to start where nobody does."""

from __future__ import annotations

from collections.abc import Iterator

import frappe
import pytest
from frappe.utils.background_jobs import generate_qname

from job_engine.site import engine, redis_queue, serving
from job_engine.site.doctor import check_queues
from job_engine.store.workers import Worker
from job_engine.tests.site import people
from job_engine.tests.site.running import QUEUE

RQ_WORKER = "rq:worker:test-of-serving"
SERVED = "The next free worker will take it"


@pytest.fixture
def queued(acme: str) -> str:
    """A job in a queue that no worker of the bench serves. Nobody else sees it."""
    return people.job(acme, status="Queued", queue=QUEUE)


@pytest.fixture
def rq_worker(connected: str) -> Iterator[None]:
    """A bench worker of that queue, as RQ writes it down."""
    connection = redis_queue.connection()
    connection.hset(RQ_WORKER, "queues", f"{generate_qname('other')},{generate_qname(QUEUE)}")
    connection.sadd("rq:workers", RQ_WORKER)
    yield
    connection.srem("rq:workers", RQ_WORKER)
    connection.delete(RQ_WORKER)


def runner(queues: tuple[str, ...] | None) -> Worker:
    now = engine().store.now()
    return Worker("test-of-serving", "host", 1, queues, now, now)


def test_explain_names_what_starts_a_worker_on_a_bench(queued: str):
    command = f"bench --site {frappe.local.site} job-engine work"

    assert (
        engine()
        .explain(queued)
        .endswith(
            f"No worker serves queue {QUEUE}: start one with `bench worker --queue {QUEUE}`, or with `{command}`."
        )
    )


def test_a_bench_worker_that_has_nothing_to_do_serves_its_queues(queued: str, rq_worker: None):
    assert SERVED in engine().explain(queued)
    assert serving.served_queues({QUEUE}, []) >= {QUEUE, "other"}


@pytest.mark.parametrize(("queues", "serves"), [(None, True), ((QUEUE,), True), (("other",), False)])
def test_so_does_a_process_of_job_engine_work(queued: str, queues: tuple[str, ...] | None, serves: bool):
    engine().store.sign_in(runner(queues))

    assert (SERVED in engine().explain(queued)) is serves
    assert (QUEUE in serving.served_queues({QUEUE}, [runner(queues)])) is serves


def test_while_redis_is_down_nobody_is_told_to_start_a_worker(queued: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(frappe.local.conf, "redis_queue", "redis://127.0.0.1:1")

    assert serving.listening_workers() is None
    assert SERVED in engine().explain(queued)


def test_doctor_names_the_same_commands():
    command = engine().command

    assert f"`bench worker --queue mail`, or `{command} work`" in check_queues({"mail"}, {"default"}, command).advice
    assert f"`{command} work`" in check_queues({"mail"}, set(), command).advice
