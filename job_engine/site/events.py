"""Events for apps: functions that an app names in its hook `job_engine_events` are called when something became of a job.

A runner calls them after the commit, between two jobs, for what it saw end. That a job is in Dead Letter is told by the tick
instead, which remembers how far it has told: nobody needs to know of every success, but somebody must hear of each job that
waits for a person, also when its worker is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

import frappe

from job_engine import attempt as attempts
from job_engine.core.job import Outcome
from job_engine.core.states import Status
from job_engine.site import engine, marks
from job_engine.site.store import SiteStore

log = logging.getLogger("job_engine.events")

HOOK = "job_engine_events"
READER = "events"
SAVEPOINT = "job_engine_event"
MOST_WAITING = 10_000  # events of a runner that has had no moment to tell them

NAMES = {
    Status.COMPLETED: "completed",
    Status.FAILED: "failed",
    Status.TIMED_OUT: "timed_out",
    Status.CANCELED: "canceled",
    Status.DEAD_LETTER: "dead_letter",
}
_TOLD_BY_RUNNERS = frozenset(NAMES) - {Status.DEAD_LETTER}

Event = dict[str, Any]


class Listeners:
    """The listeners of the site's apps, as a runner calls them. Without any, nothing is loaded and nothing is done."""

    def __init__(self) -> None:
        self.paths: list[str] = frappe.get_hooks(HOOK)
        self._waiting: list[Event] = []

    def note(self, outcomes: Sequence[Outcome], at: Callable[[], datetime]) -> None:
        """Attempts ended, and that is committed. Told now, or as soon as no handler runs."""
        if self.paths:
            now = at()
            self._waiting += [_of_outcome(o, now) for o in outcomes if o.status in _TOLD_BY_RUNNERS]
            del self._waiting[:-MOST_WAITING]
            self.tell()

    def tell(self) -> None:
        if self._waiting and attempts.current()[0] is None:  # in a handler the transaction and the user are its own
            waiting, self._waiting = self._waiting, []
            call(waiting, self.paths)


def tell_dead_letters() -> int:
    """Tell of the jobs that have entered Dead Letter since the last time. Called by the tick. Returns how many.

    What listeners write is committed together with how far they have heard: once. What they do elsewhere, they may do again.
    """
    paths = frappe.get_hooks(HOOK)
    if not paths:
        return 0
    store = engine().store
    mark = marks.take(READER, store.dialect.local(store.now()))
    if mark is None:
        return 0
    rows, moved = marks.dead_letters_since(
        mark, store, "job_type, organization, attempts, max_attempts, last_error, error_type, reason"
    )
    marks.move(READER, moved)
    call([_of_row(row, store) for row in rows], paths)
    return len(rows)


def call(events: Iterable[Event], paths: Sequence[str]) -> None:
    """Call the listeners with each event, as Administrator, and commit what they wrote.

    One that fails harms nobody, and is in the Error Log.
    """
    user = frappe.session.user
    frappe.set_user("Administrator")
    try:
        for event in events:
            for path in paths:
                _call(path, event)
        frappe.db.commit()
    finally:
        frappe.set_user(user)


def _call(path: str, event: Event) -> None:
    frappe.db.savepoint(SAVEPOINT)
    try:
        frappe.get_attr(path)(dict(event))
    except Exception:
        _undo()
        log.exception("%s failed on %s of job %s", path, event["event"], event["name"])
        frappe.log_error(f"Job Engine: {path} failed on an event")


def _undo() -> None:
    try:
        frappe.db.rollback(save_point=SAVEPOINT)
    except Exception:  # the listener has ended the transaction, and the savepoint with it
        frappe.db.rollback()


def _of_outcome(o: Outcome, at: datetime) -> Event:
    return {
        "event": NAMES[o.status],
        "name": o.name,
        "job_type": o.job_type,
        "organization": o.organization,
        "status": str(o.status),
        "attempts": o.attempt,
        "max_attempts": o.max_attempts,
        "error": o.error,
        "error_type": o.error_type,
        "reason": o.reason,
        "run_after": o.run_after,
        "at": at,
    }


def _of_row(row: Any, store: SiteStore) -> Event:
    return {
        "event": NAMES[Status.DEAD_LETTER],
        "name": row.name,
        "job_type": row.job_type,
        "organization": row.organization,
        "status": str(Status.DEAD_LETTER),
        "attempts": row.attempts,
        "max_attempts": row.max_attempts,
        "error": row.last_error,
        "error_type": row.error_type,
        "reason": row.reason,
        "run_after": None,
        "at": store.dialect.from_db(row.ended_at) or datetime.now(timezone.utc),
    }
