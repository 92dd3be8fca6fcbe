"""Two thousand jobs, while workers, supervisors and whole machines are lost to kill -9 at random moments and replaced."""

from __future__ import annotations

import random
import signal
from collections import Counter

import pytest

from job_engine import Engine, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet, Pool, kill
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.waiting import until

JOBS = 2000
POOLS = 2
WORKERS = 2  # of each pool
LOSSES = ["worker"] * 9 + ["supervisor"] * 2 + ["machine"] * 2  # a machine: the supervisor and all its workers at once
SETTINGS = {"lease_seconds": 2.0}


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_every_job_completes_once_and_leaves_exactly_one_effect(engine: Engine, fleet: Fleet, folder: Folder) -> None:
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")  # shown when the test fails
    made = engine.enqueue_many(handlers.EFFECT, [{"number": n, "most_milliseconds": 4} for n in range(JOBS)])
    names = {answer.name for answer in made}
    for _ in range(POOLS):
        fleet.start(WORKERS, **SETTINGS)

    _lose_at_random(engine, fleet, random.Random(seed))
    until(lambda: _completed(engine) == JOBS, f"{JOBS} jobs to complete", limit=120)

    # Nothing is lost, and nothing completes twice.
    completions = effects.completions(engine)
    assert Counter(job for job, _, _ in completions.elements()) == Counter(names)
    # Inside the database: the effects of the attempts that completed, and of no other.
    assert effects.recorded(engine) == completions
    assert all(1 <= job.attempts <= job.max_attempts for job in engine.find(limit=JOBS))
    # Outside: at least once; and more than once for some, or nobody was killed at work.
    outside = Counter(note.job for note in folder.notes("effect"))
    assert outside.keys() == names
    assert outside.total() > JOBS

    _assert_the_survivors_are_whole(fleet)


def _lose_at_random(engine: Engine, fleet: Fleet, rng: random.Random) -> None:
    """Each loss comes when the number of completed jobs passes a mark: while there is work, on machines of any speed."""
    marks = sorted(rng.sample(range(JOBS * 9 // 10), len(LOSSES)))
    losses = rng.sample(LOSSES, len(LOSSES))
    for mark, loss in zip(marks, losses, strict=True):
        until(lambda mark=mark: _completed(engine) >= mark, f"{mark} jobs to complete", limit=120)
        if loss == "worker":
            worker = until(lambda: _any_worker(fleet, rng), "a worker to kill")
            kill(worker, signal.SIGKILL)
            continue
        pool = rng.choice(_alive(fleet))
        workers = pool.workers()
        pool.kill()
        if loss == "machine":
            for pid in workers:
                kill(pid, signal.SIGKILL)
        fleet.start(WORKERS, **SETTINGS)


def _any_worker(fleet: Fleet, rng: random.Random) -> int | None:
    found = [pid for pool in _alive(fleet) for pid in pool.workers()]
    return rng.choice(found) if found else None


def _assert_the_survivors_are_whole(fleet: Fleet) -> None:
    survivors = _alive(fleet)
    assert len(survivors) == POOLS
    for pool in survivors:
        until(lambda pool=pool: len(pool.workers()) == WORKERS, "the pool to have its size again")
    assert [pool.crashes() for pool in fleet.pools] == [[]] * len(fleet.pools)


def _alive(fleet: Fleet) -> list[Pool]:
    return [pool for pool in fleet.pools if pool.is_alive]


def _completed(engine: Engine) -> int:
    return engine.count(status=Status.COMPLETED)
