"""A flood from one organization does not delay another's job."""

from __future__ import annotations

from datetime import datetime

from job_engine import Engine, Status
from job_engine.tests.acceptance import handlers
from job_engine.tests.acceptance.fleet import Fleet
from job_engine.tests.acceptance.jobs import all_have_ended, is_now
from job_engine.tests.acceptance.waiting import until

FLOOD = 2000
MOST_BATCHES = 2


def test_another_organization_s_first_job_starts_within_two_batches(engine: Engine, fleet: Fleet) -> None:
    flood = [{"number": n, "most_milliseconds": 2} for n in range(FLOOD)]
    engine.enqueue_many(handlers.EFFECT, flood, organization="Flood")
    fleet.start()
    until(lambda: engine.count(status=Status.COMPLETED) > FLOOD // 20, "the flood to be under way")
    mine = engine.enqueue(handlers.EFFECT, {"number": 0}, organization="Small")
    enqueued_at = engine.store.now()
    until(lambda: is_now(engine, mine, Status.COMPLETED), "the other organization's job to complete")

    assert engine.count(status=Status.QUEUED) > FLOOD // 10, "the flood was over: this has shown nothing"
    claimed_at = next(t.at for t in engine.history(mine.name) if t.to_status is Status.RUNNING)
    assert _batches_between(engine, enqueued_at, claimed_at) <= MOST_BATCHES
    until(lambda: all_have_ended(engine), "the flood to end")


def _batches_between(engine: Engine, after: datetime, before: datetime) -> int:
    """How many batches one worker has claimed in between. All jobs of a batch are claimed at one instant."""
    to_db = engine.store.dialect.to_db
    with engine.store.session() as session:
        return int(
            session.value(
                "SELECT COUNT(DISTINCT creation) FROM {log} WHERE to_status = 'Running' AND creation > %s AND creation < %s",
                (to_db(after), to_db(before)),
            )
        )
