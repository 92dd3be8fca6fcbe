"""Tell, in words, what is worth telling about the changes of state: one line for each kind of event, not for each event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from job_engine.core.states import Status
from job_engine.demo.events import Event, Tone
from job_engine.demo.feed import Look, News
from job_engine.demo.scenario import KILLED, Roll
from job_engine.store.rescuing import WORKER_LOST

EXAMPLES = 2  # of each kind of event that happens often


class Story:
    def __init__(self, roll: Roll, processes: int):
        self._roll = roll
        self._processes = processes
        self._workers: set[str] = set()
        self._told: Counter[str] = Counter()
        self._killed = next(name for name, planned in roll.items() if planned.label == KILLED)

    def tell(self, look: Look) -> Iterator[Event]:
        for news in look.news:
            yield from self._tell(news)
        yield from self._tell_new_workers(look)
        yield from self._tell_resumed(look)

    def _tell(self, news: News) -> Iterator[Event]:
        planned = self._roll[news.job]
        label, said = planned.label, (news.error or "").partition(": ")[2]
        if news.after is Status.DEAD_LETTER and news.attempt == 1:
            yield Event(f"{label}: to Dead Letter at once ({said})", Tone.BAD)
        elif news.after is Status.DEAD_LETTER:
            yield Event(f"{label}: to Dead Letter after {news.attempt} attempts ({said})", Tone.BAD)
        elif news.after is Status.FAILED and self._is_new(f"failed {planned.job_type}"):
            yield Event(f"{label}: {said}; it will be retried", Tone.TROUBLE)
        elif news.after is Status.CANCELED and planned.after:
            yield Event(f"{label}: canceled with it", Tone.DONE)
        elif news.after is Status.CANCELED:
            yield Event(f"{label}: {news.reason}", Tone.DONE)
        elif news.reason == WORKER_LOST:
            yield Event(f"{label}: rescued from the dead worker, and queued again", Tone.TROUBLE)
        elif news.after is Status.COMPLETED and planned.lost:
            yield Event(f"{label}: completed in attempt {news.attempt}, no row twice", Tone.DONE)
        elif news.after is Status.COMPLETED and news.attempt > 1 and self._is_new("retried"):
            yield Event(f"{label}: completed in attempt {news.attempt}", Tone.DONE)
        elif news.before is Status.PENDING and planned.after and self._is_new("unblocked"):
            yield Event(f"{label}: {planned.after} is completed, so it may run", Tone.DONE)

    def _tell_new_workers(self, look: Look) -> Iterator[Event]:
        for worker in look.workers:
            if worker.name not in self._workers:
                place = " in its place" if len(self._workers) >= self._processes else ""
                self._workers.add(worker.name)
                yield Event(f"worker {worker.pid} has started{place}")

    def _tell_resumed(self, look: Look) -> Iterator[Event]:
        job = look.job(self._killed)
        if job is not None and job.attempts > 1 and job.checkpoint and self._is_new("resumed", 1):
            done = job.checkpoint["batches"]
            yield Event(f"{KILLED}: goes on after batch {done}, its last checkpoint", Tone.DONE)

    def _is_new(self, kind: str, examples: int = EXAMPLES) -> bool:
        self._told[kind] += 1
        return self._told[kind] <= examples
