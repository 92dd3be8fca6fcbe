"""A worker whose wall clock is wrong by ten minutes: the time that counts is the database's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta

import pytest

from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine

# The clocks are wrong before the first line of the engine is imported, as on a machine that is wrong. SQLite asks the
# operating system itself; what a Python process can get wrong is covered all the same.
WORKER = """
import datetime, json, sys, time
url, offset = sys.argv[1], float(sys.argv[2])
right_time, right_ns, right = time.time, time.time_ns, datetime.datetime
time.time = lambda: right_time() + offset
time.time_ns = lambda: right_ns() + int(offset * 1e9)
class Wrong(right):
    @classmethod
    def now(cls, tz=None):
        return right.now(tz) + datetime.timedelta(seconds=offset)
    @classmethod
    def utcnow(cls):
        return right.utcnow() + datetime.timedelta(seconds=offset)
datetime.datetime = Wrong
from job_engine.core.registry import Registry
from job_engine.engine import Engine
registry = Registry()
registry.job("work", dedup_window=0)(lambda **params: None)
@registry.job("fail", retry=[100.0])
def fail():
    raise ConnectionError("gone")
with Engine.open(url, registry=registry) as engine:
    made = engine.enqueue("work", {"made": "here"}, run_after=300)
    engine.tick()
    rescued = engine.rescue()
    engine.run_once(1, queues=["failing"])
    claimed = engine.store.claim_batch("wrong", 10, ("default",))
    print(json.dumps({"made": made.name, "rescued": rescued, "claimed": [job.name for job in claimed]}))
"""


@pytest.fixture
def right_engine(database_url: str, registry: Registry) -> Iterator[Engine]:
    with Engine.open(database_url, registry=registry) as engine:
        yield engine


@pytest.mark.parametrize("offset", [600, -600])
def test_a_worker_with_a_wrong_clock_keeps_the_databases_time(
    right_engine: Engine, registry: Registry, database_url: str, offset: int
) -> None:
    engine = right_engine
    registry.job("work", dedup_window=0)(lambda **params: None)
    registry.job("fail", queue="failing", retry=[100.0])(lambda: None)
    due, held = engine.enqueue("work").name, engine.enqueue("work", queue="other").name
    later = engine.enqueue("work", run_after=300).name
    failing = engine.enqueue("fail").name
    engine.store.claim_batch("right", 1, ("other",))
    before = engine.store.now()
    done = subprocess.run(
        [sys.executable, "-c", WORKER, database_url, str(offset)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    after = engine.store.now()
    lease = timedelta(seconds=engine.settings.lease_seconds)
    slack = timedelta(seconds=1)  # of rounding, and of how well two processes read one clock
    assert said["claimed"] == [due] and said["rescued"] == 0
    claimed = engine.get(due)
    assert claimed.lease_expires_at is not None and claimed.started_at is not None
    assert before - slack <= claimed.started_at <= after + slack
    assert before + lease - slack <= claimed.lease_expires_at <= after + lease + slack
    made = engine.get(said["made"])
    assert before - slack <= made.run_after - timedelta(seconds=300) <= after + slack
    assert (engine.get(later).status, engine.get(held).lease_owner) == (Status.PENDING, "right")
    failed = engine.get(failing)
    assert failed.status is Status.FAILED
    assert before - slack <= failed.run_after - timedelta(seconds=100) <= after + slack
    assert engine.rescue() == 0
