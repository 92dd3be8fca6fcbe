"""A flood from one organization does not delay another's job."""

from __future__ import annotations

from datetime import datetime

from job_engine import Engine, Status
from job_engine.tests.acceptance import handlers
from job_engine.tests.acceptance.fleet import Fleet
from job_engine.tests.acceptance.jobs import is_now
from job_engine.tests.acceptance.waiting import until

FLOOD = 2000
MOST_BATCHES = 2


def test_another_organization_s_first_job_starts_within_two_batches(engine: Engine, fleet: Fleet) -> None:
    engine.enqueue_many(handlers.PLAIN, [{"number": n} for n in range(FLOOD)], organization="Flood")
    fleet.start()
    until(lambda: engine.count(status=Status.COMPLETED) > FLOOD // 20, "the flood to be under way")
    mine = engine.enqueue(handlers.PLAIN, {"number": 0}, organization="Small")
    enqueued_at = engine.store.now()
    until(lambda: is_now(engine, mine, Status.COMPLETED), "the other organization's job to complete")

    assert engine.count(status=Status.QUEUED) > FLOOD // 10, "the flood was over: this has shown nothing"
    claimed_at = next(t.at for t in engine.history(mine.name) if t.to_status is Status.RUNNING)
    assert _batches_between(engine, enqueued_at, claimed_at) <= MOST_BATCHES


def test_an_enqueue_does_not_wait_for_the_end_of_a_drain(engine: Engine, fleet: Fleet) -> None:
    """On SQLite there is one writer at a time, and a busy worker is the one again and again: others need their turn."""
    flood = [{"number": n, "most_milliseconds": 2} for n in range(1, FLOOD + 1)]
    engine.enqueue_many(handlers.EFFECT, flood)
    fleet.start()
    until(lambda: engine.count(status=Status.COMPLETED) > FLOOD // 20, "the flood to be under way")
    drained: list[int] = []
    while (before := engine.count(status=Status.COMPLETED)) < FLOOD // 2:
        engine.enqueue(handlers.EFFECT, {"number": -len(drained)})
        drained.append(engine.count(status=Status.COMPLETED) - before)
    assert drained, "the flood was over: this has shown nothing"
    assert max(drained) < FLOOD // 10


def _batches_between(engine: Engine, after: datetime, before: datetime) -> int:
    """How many batches one worker has claimed in between. All jobs of a batch are claimed at one instant."""
    to_db = engine.store.dialect.to_db
    with engine.store.session() as session:
        return int(
            session.value(
                "SELECT COUNT(DISTINCT claimed_at) FROM {log} WHERE claimed_at > %s AND claimed_at < %s",
                (to_db(after), to_db(before)),
            )
        )
