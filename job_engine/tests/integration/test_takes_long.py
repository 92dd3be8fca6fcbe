"""A home of the engine is told once when a job has been running for a moment: not of the quick ones."""

from __future__ import annotations

import threading

from job_engine import Engine, JobContext
from job_engine.core.job import Job
from job_engine.core.registry import Registry


class Home(Engine):
    told: list[str]
    was_told: threading.Event

    def takes_long(self, job: Job) -> None:
        self.told.append(job.name)
        self.was_told.set()


def test_a_job_that_runs_for_a_moment_is_told_of_once_and_a_quick_one_never(tmp_path):
    registry = Registry()
    engine = Home.open(f"sqlite:///{tmp_path}/jobs.db", registry=registry)
    engine.told, engine.was_told = [], threading.Event()

    @registry.job("quick")
    def quick(ctx: JobContext) -> None:
        pass

    @registry.job("slow")
    def slow(ctx: JobContext) -> bool:
        was_told = engine.was_told.wait(20)
        engine.was_told.clear()
        return was_told and not engine.was_told.wait(0.3)  # some looks of the keeper later, still only once

    engine.enqueue("quick")
    job = engine.enqueue("slow")
    engine.run_once()

    assert engine.get(job.name).result is True
    assert engine.told == [job.name]
    engine.close()
