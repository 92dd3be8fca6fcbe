"""What handlers hang on the end of the site's transaction: frappe.db.before_commit, after_commit and their like.

Jobs of a group share these queues, as they share the transaction. Marks tell whose is whose: what a failed handler wanted does
not happen, and what a finished one wanted happens in its own name, with what it has left in frappe.local for that purpose.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

import frappe

from job_engine.site.execution import Place

log = logging.getLogger("job_engine.group")

Callback = Callable[[], None]
Marks = dict[str, int]  # how many callbacks there were in each queue when the handler started

_QUEUES = ("before_commit", "after_commit", "before_rollback", "after_rollback")


def mark() -> Marks:
    db = frappe.local.db
    return {name: len(getattr(db, name)._functions) for name in _QUEUES}


def are_left(marks: Marks) -> bool:
    """Whether the handler wants something to happen at the transaction's end."""
    now = mark()
    if now == marks:
        return False  # as most do
    return any(not _is_ours(_queue(name)[i]) for name in _QUEUES for i in range(marks.get(name, 0), now[name]))


def keep(marks: Marks) -> None:
    """The handler has finished: when the time comes, its callbacks find everything as it has left it."""
    place = Place()
    for name in _QUEUES:
        queue = _queue(name)
        for i in range(marks.get(name, 0), len(queue)):
            if not _is_ours(queue[i]):
                queue[i] = place.later(queue[i] if name == "before_commit" else harmless(queue[i]))


def forget(marks: Marks) -> None:
    """The handler was rolled back: what it wanted after its commit does not happen, what it wanted after a rollback does."""
    for name in _QUEUES:
        queue = _queue(name)
        added = [queue.pop() for _ in range(len(queue) - marks.get(name, 0))]
        if name.endswith("rollback"):
            for callback in reversed(added):
                callback()


def reset() -> list[Callback]:
    """Forget all of them: the transaction went with its connection. Returns those that a rollback would have called."""
    wanted = [*_queue("before_rollback"), *_queue("after_rollback")]
    for name in _QUEUES:
        getattr(frappe.local.db, name).reset()
    return wanted


def harmless(callback: Callback) -> Callback:
    """For what happens when the transaction has ended: an error then must not look as if it could not be ended."""

    def called() -> None:
        try:
            callback()
        except Exception:
            log.exception("What a job wanted to do after its commit failed", extra={"action": "after_commit_failed"})

    return called


def _queue(name: str) -> deque[Callback]:
    functions: deque[Callback] = getattr(frappe.local.db, name)._functions
    return functions


def _is_ours(callback: Callback) -> bool:
    """Wake-ups and the like: they know by themselves what they need, and find each other by being equal."""
    return getattr(callback, "__module__", "").startswith("job_engine.site.")
