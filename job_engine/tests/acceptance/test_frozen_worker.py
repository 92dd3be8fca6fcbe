"""A worker that stands still past its lease and then goes on must not finish what was taken from it."""

from __future__ import annotations

import signal

import pytest

from job_engine import Engine, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet, is_frozen, kill, pid_of
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import ends_of_attempts, has_started, is_now, outcome
from job_engine.tests.acceptance.waiting import until

NEVER = 600.0
# How the thawed worker learns of its loss: from its keeper, from the database when it wants to finish, or not at all, because
# a worker that stood still for longer than its lease and the grace period may end itself.
TELLING = {
    "by its keeper": {"grace_seconds": NEVER},
    "by the fence": {"grace_seconds": NEVER, "cancel_check_seconds": NEVER},
    "not at all": {},
}


@pytest.mark.parametrize("telling", TELLING)
def test_a_frozen_worker_cannot_finish_the_job_that_another_has_completed(
    engine: Engine, fleet: Fleet, folder: Folder, telling: str
) -> None:
    # On SQLite a worker frozen inside its own write would stop every other writer: there, the effect comes afterwards.
    early = engine.store.dialect.name != "SQLite"
    job = engine.enqueue(handlers.HELD, {"gate": "thaw", "early_effect": early})
    frozen_pool = fleet.start(lease_seconds=1.5, **TELLING[telling])
    until(lambda: has_started(folder, job), "the job to start")
    frozen = engine.get(job.name).lease_owner
    assert frozen is not None
    kill(pid_of(frozen), signal.SIGSTOP)
    until(lambda: is_frozen(pid_of(frozen)), "the worker to stand still")

    other_pool = fleet.start()
    until(lambda: is_now(engine, job, Status.COMPLETED), "another worker to complete the job")
    other_pool.terminate()
    assert other_pool.exit_code() == 0
    assert [note.attempt for note in folder.notes("returned", job.name)] == [2]

    if telling == "by the fence":
        folder.open_gate("thaw")
    kill(pid_of(frozen), signal.SIGCONT)
    later = engine.enqueue(handlers.EFFECT, {"number": 1})
    until(
        lambda: is_now(engine, later, Status.COMPLETED), "the thawed worker, or its successor, to go on with other work"
    )

    returned = [note.attempt for note in folder.notes("returned", job.name)]
    if telling != "not at all":
        assert effects.completions(engine)[later.name, 1, frozen] == 1, "the thawed worker itself must have gone on"
        assert returned in ([[2, 1], [2]] if telling == "by the fence" else [[2]])  # its keeper may have been quicker
    assert outcome(engine, job) == (Status.COMPLETED, 2)
    assert ends_of_attempts(engine, job) == [Status.QUEUED, Status.COMPLETED]  # rescued, then completed
    ((_, attempt, worker),) = [effect for effect in effects.recorded(engine).elements() if effect[0] == job.name]
    assert attempt == 2 and worker != frozen
    until(lambda: len(frozen_pool.workers()) == 1, "the pool to have its size")
