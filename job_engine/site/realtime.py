"""Realtime events about jobs: `job_progress` and `job_status_changed`, to the rooms of the job, its organization and the site.

They are for looking at, and never the only way to learn something: a client asks for a job's state when it connects. So a flood
is thinned out. A job's own room hears of it when somebody watches it, when it took a moment, or when few jobs changed at
once; the rooms of many jobs hear of some singly and of the others in numbers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import frappe
import redis

from job_engine import attempt as attempts
from job_engine.core.job import Job, Outcome
from job_engine.core.redact import redact_text
from job_engine.core.states import ENDED, Status
from job_engine.site import rooms, tenancy
from job_engine.site.crowd import Crowd
from job_engine.site.rooms import Rooms
from job_engine.site.wire import Message, Wire
from job_engine.store.sql import SqlStore

PROGRESS, STATUS = "job_progress", "job_status_changed"

FEW = 20  # jobs that changed together and are each told of in their own room, watched or not
SLOW_SECONDS = 0.25  # a job that took longer may have been looked at
MOST_CROWDS = 1_000  # that are remembered


class News(NamedTuple):
    """What is told of one job: never what it was called with, returned or failed of."""

    name: str
    job_type: str
    organization: str | None
    status: Status
    attempts: int
    max_attempts: int
    at: datetime
    run_after: datetime | None = None  # when it runs next
    progress: float | None = None
    took_long: bool = False
    is_new: bool = False  # nobody can watch it yet

    @classmethod
    def of_outcome(cls, o: Outcome, at: datetime) -> News:
        return cls(
            o.name,
            o.job_type,
            o.organization,
            o.status,
            o.attempt - o.give_back,
            o.max_attempts,
            at,
            None if o.status in ENDED else o.run_after,
            100.0 if o.status is Status.COMPLETED else o.progress,
            took_long=o.duration > SLOW_SECONDS,
        )

    @classmethod
    def of_job(cls, job: Job) -> News:
        return cls(
            job.name,
            job.job_type,
            job.organization,
            job.status,
            job.attempts,
            job.max_attempts,
            job.modified,
            None if job.has_ended else job.run_after,
            job.progress,
            is_new=bool(job.created),
        )

    def content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "job_type": self.job_type,
            "organization": self.organization,
            "status": str(self.status),
            "attempts": self.attempts,
            "max_attempts": self.max_attempts,
            "run_after": None if self.run_after is None else self.run_after.isoformat(),
            "progress": self.progress,
            "at": self.at.isoformat(),
        }


class Publisher:
    """Tells of one site's jobs. Made in a thread that has frappe.local; a runner's keeper, which has none, speaks through it."""

    def __init__(self, store: SqlStore):
        self._store = store
        self._wire = Wire()
        self._rooms = Rooms(store)
        self._watched_key = rooms.watched_key()
        self._lock = threading.Lock()
        self._crowds: dict[str, Crowd] = {}
        self._ended: set[tuple[str, int]] = set()  # the attempts told of last: nothing may come after the last word

    # What runs; called in the keeper's thread

    def started(self, job: Job) -> None:
        """A job has been running for a moment."""
        self._tell_while_it_runs(job, STATUS, self._running(job, job.progress).content())

    def progressed(self, job: Job, percent: float, message: str | None) -> None:
        """A running job told how far it is. The keeper calls this at most four times a second."""
        text = None if message is None else redact_text(message)
        content = {**self._running(job, percent).content(), "attempt": job.attempts, "progress_message": text}
        self._tell_while_it_runs(job, PROGRESS, content)

    def _running(self, job: Job, percent: float) -> News:
        now = self._store.now()
        return News(
            job.name,
            job.job_type,
            job.organization,
            Status.RUNNING,
            job.attempts,
            job.max_attempts,
            now,
            progress=percent,
        )

    def _tell_while_it_runs(self, job: Job, event: str, content: dict[str, Any]) -> None:
        may_name = self._rooms.may_name(job.job_type)
        heard = [rooms.of_job(job.name), rooms.ADMINISTRATORS]
        if job.organization is not None and may_name:
            heard.append(self._rooms.of_organization(job.organization))
        with self._lock:
            if (job.name, job.attempts) not in self._ended:
                self._wire.send([*((room, event, content) for room in heard), *self._numbers()])

    # What changed

    def ended(self, outcomes: Sequence[Outcome]) -> None:
        """Attempts ended, and that is committed."""
        if outcomes and not self._wire.is_cut:
            at = self._store.now()
            self._tell([News.of_outcome(o, at) for o in outcomes], {(o.name, o.attempt) for o in outcomes})

    def changed(self, jobs: Sequence[Job]) -> None:
        """This is what became of these jobs, and that is committed."""
        if jobs and not self._wire.is_cut:
            self._tell([News.of_job(job) for job in jobs])

    def flush(self) -> None:
        """Nothing more comes for a while: tell what was held back."""
        with self._lock:
            self._wire.send(self._numbers(at_once=True))

    def _tell(self, news: Sequence[News], ended: set[tuple[str, int]] | None = None) -> None:
        are_few = len(news) <= FEW
        watched = set() if are_few else self._watched()
        with self._lock:
            self._ended = ended or self._ended
            now = time.monotonic()
            messages: list[Message] = []
            for one in news:
                heard = self._crowd_rooms(one, now)
                if not one.is_new and (are_few or one.took_long or one.name in watched):
                    heard.append(rooms.of_job(one.name))
                if heard:
                    content = one.content()
                    messages += [(room, STATUS, content) for room in heard]
            self._wire.send([*messages, *self._numbers()])

    def _crowd_rooms(self, one: News, now: float) -> list[str]:
        """The rooms of many jobs that hear of this one singly. The others count it."""
        heard = [rooms.ADMINISTRATORS] if self._crowd(rooms.ADMINISTRATORS).admits(one.status, one.at, now) else []
        if one.organization is not None:
            room = self._rooms.of_organization(one.organization)
            if not self._rooms.may_name(one.job_type):
                self._crowd(room).count(None, one.at)
            elif self._crowd(room).admits(one.status, one.at, now):
                heard.append(room)
        return heard

    def _crowd(self, room: str) -> Crowd:
        found = self._crowds.get(room)
        if found is None:
            if len(self._crowds) >= MOST_CROWDS:
                self._crowds = {name: crowd for name, crowd in self._crowds.items() if crowd.holds_back}
            found = self._crowds[room] = Crowd()
        return found

    def _numbers(self, at_once: bool = False) -> list[Message]:
        now = time.monotonic()
        due = ((room, crowd.take_numbers(now, at_once)) for room, crowd in self._crowds.items())
        return [(room, STATUS, numbers) for room, numbers in due if numbers is not None]

    def _watched(self) -> set[str]:
        try:
            return rooms.watched(self._wire.redis, self._watched_key)
        except redis.exceptions.RedisError as error:
            self._wire.cut(error)
            return set()


# For callers: a request, a console, a handler -----------------------------------------------------------------------------

_publishers: dict[tuple[str, str], Publisher] = {}  # by site and tenant doctype


class Change:
    """Jobs that a transaction has changed. Called by Frappe once it is committed."""

    def __init__(self, publisher: Publisher, attempt: object):
        self.publisher = publisher
        self.attempt = attempt  # of the handler that did it: what a handler wanted is forgotten when it is rolled back
        self.jobs: dict[str, Job] = {}

    def __call__(self) -> None:
        self.publisher.changed(list(self.jobs.values()))


def changed(jobs: Sequence[Job], store: SqlStore) -> None:
    """Jobs were enqueued, canceled or retried in the caller's transaction: tell it once that commits."""
    attempt, _group = attempts.current()
    waiting = frappe.local.db.after_commit._functions
    for change in reversed(waiting):
        if type(change) is Change and change.attempt is attempt:
            break
    else:
        change = Change(_callers_publisher(store), attempt)
        waiting.append(change)
    for job in jobs:
        change.jobs[job.name] = job


def _callers_publisher(store: SqlStore) -> Publisher:
    key = (frappe.local.site, tenancy.tenant_doctype())
    if key not in _publishers:
        _publishers[key] = Publisher(store)
    return _publishers[key]
