"""Two thousand jobs while workers and whole supervisors are killed -9 at random moments and replaced."""

from __future__ import annotations

import random
import signal
from collections import Counter

import pytest

from job_engine import Engine
from job_engine.core.states import Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet, kill
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.waiting import until

JOBS = 2000
POOLS = 2
WORKERS = 2  # of each pool
KILLS = 12  # at least; there are more while jobs are left
SPARE = 300  # jobs: from here on nobody is killed, so that the test has an end
PAUSE = (0.05, 0.4)  # seconds between two kills


@pytest.mark.slow
@pytest.mark.parametrize("seed", [random.randrange(1_000_000)], ids=["random"])
def test_every_job_completes_and_leaves_exactly_one_effect(
    engine: Engine, fleet: Fleet, folder: Folder, seed: int
) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    made = engine.enqueue_many(handlers.EFFECT, [{"number": n, "most_milliseconds": 6} for n in range(JOBS)])
    names = {answer.job.name for answer in made}
    for _ in range(POOLS):
        fleet.start(WORKERS, lease_seconds=2.0)

    kills = _kill_at_random(engine, fleet, rng)
    until(lambda: engine.count(status=Status.COMPLETED) == JOBS, f"{JOBS} jobs to complete", limit=60)

    print(kills)
    assert kills["worker"] + kills["supervisor"] >= KILLS and min(kills.values()) > 0
    # Nothing is lost, nothing completes twice.
    completions = effects.completions(engine)
    assert Counter(job for job, _, _ in completions.elements()) == Counter(names)
    # The effects inside the database are those of the attempts that completed, and no other.
    assert effects.recorded(engine) == completions
    assert all(job.attempts <= job.max_attempts for job in engine.find(limit=JOBS))
    # Outside the database: at least once.
    assert {note.job for note in folder.notes("effect")} == names

    _assert_the_survivors_are_whole(fleet)


def _kill_at_random(engine: Engine, fleet: Fleet, rng: random.Random) -> Counter[str]:
    kills: Counter[str] = Counter()
    while sum(kills.values()) < KILLS or engine.count(status=Status.COMPLETED) < JOBS - SPARE:
        if engine.count(status=Status.COMPLETED) >= JOBS - SPARE:
            break
        _wait_a_moment(rng.uniform(*PAUSE))
        pool = rng.choice([pool for pool in fleet.pools if pool.is_alive])
        if rng.random() < 0.25:
            pool.kill()
            fleet.start(WORKERS, lease_seconds=2.0)
            kills["supervisor"] += 1
        elif workers := pool.workers():
            kill(rng.choice(workers), signal.SIGKILL)
            kills["worker"] += 1
    return kills


def _wait_a_moment(seconds: float) -> None:
    import time

    time.sleep(seconds)


def _assert_the_survivors_are_whole(fleet: Fleet) -> None:
    alive = [pool for pool in fleet.pools if pool.is_alive]
    assert len(alive) == POOLS
    for pool in alive:
        until(lambda pool=pool: len(pool.workers()) == WORKERS, "the pool to have its size again")
    for pool in fleet.pools:
        assert not pool.crashes()
