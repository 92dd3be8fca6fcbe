"""What the demo does to its own jobs while they run: it cancels one, and kills the worker of another."""

from __future__ import annotations

from collections.abc import Iterator

from job_engine.core.job import Job
from job_engine.demo.events import Event, Tone
from job_engine.demo.feed import Look
from job_engine.demo.pool import Pool
from job_engine.demo.scenario import CANCELED, KILLED, Roll
from job_engine.engine import Engine

CANCEL_PERCENT = 10.0
KILL_PERCENT = 40.0


class Director:
    def __init__(self, engine: Engine, pool: Pool, roll: Roll):
        self._engine = engine
        self._pool = pool
        by_label = {planned.label: name for name, planned in roll.items()}
        self._to_cancel: str | None = by_label[CANCELED]
        self._to_kill: str | None = by_label[KILLED]

    def act(self, look: Look) -> Iterator[Event]:
        job = _beyond(look, self._to_cancel, CANCEL_PERCENT)
        if job is not None:
            self._to_cancel = None
            yield self._cancel(job)
        job = _beyond(look, self._to_kill, KILL_PERCENT)
        worker = look.worker_of(job) if job is not None else None
        if job is not None and worker is not None:
            self._to_kill = None
            self._pool.kill_worker(worker.pid)
            yield Event(f"kill -9 of worker {worker.pid}, {job.progress:.0f} % through the {KILLED}", Tone.DEED)

    def _cancel(self, job: Job) -> Event:
        self._engine.cancel(job.name, by="demo@example.com", reason="nobody wants it any more")
        return Event(f"somebody cancels the {CANCELED}, which is at {job.progress:.0f} %", Tone.DEED)


def _beyond(look: Look, name: str | None, percent: float) -> Job | None:
    job = look.job(name) if name is not None else None
    return job if job is not None and job.progress >= percent else None
