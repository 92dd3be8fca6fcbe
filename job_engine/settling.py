"""Settle what a worker held that is dead, or is about to be killed: the guilty job is charged, its neighbours are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from job_engine.core.errors import Interrupt
from job_engine.core.job import Job, Outcome
from job_engine.core.states import Status

if TYPE_CHECKING:
    from job_engine.engine import Engine


NEIGHBOUR = "its worker ended because of another job"


def settle(
    engine: Engine,
    worker_id: str,
    guilty: str | None,
    attempt: int,
    interruption: Interrupt | None,
    reason: str = NEIGHBOUR,
) -> None:
    """Record how the guilty job's attempt ended (None: the worker was lost with it) and give back everything else."""
    outcomes: list[Outcome] = []
    for held in engine.store.held(worker_id):
        job = engine.store.get(held.name)
        if job is None:
            continue
        if (held.name, held.attempt) != (guilty, attempt):
            outcomes.append(Outcome.of(job, Status.QUEUED, give_back=True, reason=reason))
        elif interruption is not None:
            outcomes.append(engine.judge(job, interruption, _seconds(engine, job)))
        else:
            engine.store.end_lost_attempt(held.name, worker_id, held.attempt)
    if outcomes:
        engine.store.finish(worker_id, outcomes)


def _seconds(engine: Engine, job: Job) -> float:
    return max(0.0, (engine.store.now() - job.started_at).total_seconds()) if job.started_at else 0.0
