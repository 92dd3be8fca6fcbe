"""The eight states of a job and the only table of moves between them. `docs/states.md` draws it; a test compares the two."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from job_engine.core.errors import IllegalTransition
from job_engine.core.language import _


class Status(str, Enum):
    PENDING = "Pending"  # not due yet, waiting for a parent, or its organization is suspended
    QUEUED = "Queued"  # due: a worker may claim it
    RUNNING = "Running"  # claimed by one worker, until its lease expires
    COMPLETED = "Completed"
    FAILED = "Failed"  # a transient error; waits for `run_after`
    TIMED_OUT = "Timed Out"  # ran too long; waits for `run_after`
    DEAD_LETTER = "Dead Letter"  # needs a person
    CANCELED = "Canceled"

    __hash__ = str.__hash__  # Enum's own is no better and written in Python: it shows in a drain of quick jobs

    def __str__(self) -> str:
        return self.value


S = Status

TRANSITIONS: dict[Status, frozenset[Status]] = {
    S.PENDING: frozenset({S.QUEUED, S.CANCELED}),
    S.QUEUED: frozenset({S.RUNNING, S.CANCELED}),
    S.RUNNING: frozenset(
        {S.COMPLETED, S.FAILED, S.TIMED_OUT, S.DEAD_LETTER, S.CANCELED, S.QUEUED, S.PENDING}
    ),  # Queued: released or rescued; Pending: snoozed
    S.FAILED: frozenset({S.QUEUED, S.CANCELED}),
    S.TIMED_OUT: frozenset({S.QUEUED, S.CANCELED}),
    S.DEAD_LETTER: frozenset({S.QUEUED, S.PENDING}),  # retry by hand; Pending: for later, or behind a parent
    S.CANCELED: frozenset({S.QUEUED, S.PENDING}),  # the same
    S.COMPLETED: frozenset(),
}

INITIAL = frozenset({S.PENDING, S.QUEUED})
WAITING = frozenset({S.PENDING, S.FAILED, S.TIMED_OUT})  # the tick moves these to Queued when they are due
ENDED = frozenset({S.COMPLETED, S.DEAD_LETTER, S.CANCELED})
ACTIVE = frozenset(Status) - ENDED
RETRYABLE = frozenset(s for s in ENDED if S.QUEUED in TRANSITIONS[s])
CANCELABLE = frozenset(s for s in Status if S.CANCELED in TRANSITIONS[s])


def sources(target: Status) -> frozenset[Status]:
    """The states from which a job may move to `target`."""
    return frozenset(s for s, targets in TRANSITIONS.items() if target in targets)


def listed(statuses: Iterable[Status]) -> str:
    """Their names, for people."""
    return ", ".join(_(status.value) for status in sorted(statuses))


def check(name: str, status: Status, wanted: Status) -> None:
    """Raise IllegalTransition unless a job in `status` may move to `wanted`."""
    if wanted not in TRANSITIONS[status]:
        if TRANSITIONS[status]:
            said = _("Job {0} is {1} and cannot become {2}. From there it can become: {3}.")
        else:
            said = _("Job {0} is {1} and cannot become {2}: it has ended.")
        raise IllegalTransition(
            said.format(name, _(status.value), _(wanted.value), listed(TRANSITIONS[status])),
            name=name,
            status=status,
            wanted=wanted,
        )
