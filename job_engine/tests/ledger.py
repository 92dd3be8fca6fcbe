"""Check the books: whatever happened, these must hold. Counted by brute force, row by row."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from job_engine.core.job import Job
from job_engine.core.priority import PRIORITIES
from job_engine.core.states import ACTIVE, INITIAL, TRANSITIONS, Status
from job_engine.engine import Engine


def check_ledger(engine: Engine) -> None:
    """Every job's history is legal and ends where the job is; blockers and counters equal a recount."""
    jobs = engine.find(limit=1_000_000)
    for job in jobs:
        check_history(engine, job)
        check_job(job)
        if job.status in ACTIVE - {Status.RUNNING}:
            parents = engine.store.parents_of(job.name)
            assert job.blockers == sum(status is not Status.COMPLETED for _, status in parents), job
    check_counters(engine, jobs)


def check_history(engine: Engine, job: Job) -> None:
    history = engine.history(job.name)
    assert history[0].from_status is None and history[0].to_status in INITIAL, history
    for earlier, later in pairwise(history):
        assert later.from_status is earlier.to_status, f"{job.name}: a gap between {earlier} and {later}"
        assert later.to_status in TRANSITIONS[earlier.to_status], f"{job.name}: {later} is no legal move"
        assert later.at >= earlier.at, f"{job.name}: {later} came before {earlier}"
    assert history[-1].to_status is job.status, f"{job.name} is {job.status}, its history says {history[-1]}"
    assert sum(t.to_status is Status.COMPLETED for t in history) <= 1, f"{job.name} completed twice"


def check_job(job: Job) -> None:
    assert 0 <= job.attempts <= job.max_attempts, job
    running = job.status is Status.RUNNING
    assert (job.lease_owner is not None) == (job.lease_expires_at is not None) == running, job
    assert (job.ended_at is not None) == job.has_ended, job
    if job.status in (Status.QUEUED, Status.RUNNING, Status.COMPLETED):
        assert job.blockers == 0, job


def check_counters(engine: Engine, jobs: list[Job]) -> None:
    for organization in (None, *sorted({job.organization for job in jobs if job.organization})):
        mine = [job for job in jobs if organization in (None, job.organization)]
        metrics = engine.metrics(organization)
        status = Counter(str(job.status) for job in mine)
        assert metrics.job_count_by_status == {str(s): status[str(s)] for s in Status}, organization
        depth = Counter(job.priority for job in mine if job.status is Status.QUEUED)
        assert metrics.queue_depth_by_priority == {p: depth[p] for p in PRIORITIES}, organization
