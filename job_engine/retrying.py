"""Retry many jobs by hand: a look at what it would do, then do it, at once or spread over time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from job_engine.core.errors import JobEngineError
from job_engine.core.language import _
from job_engine.core.states import RETRYABLE, Status, listed
from job_engine.store.reading import Filter

if TYPE_CHECKING:
    from job_engine.engine import Engine

PAGE = 500


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """What a retry by filter would do."""

    total: int
    by_type: dict[str, int]
    by_organization: dict[str, int]
    by_error: dict[str, int]


def plan_retry(engine: Engine, which: Filter) -> RetryPlan:
    which = _retryable(which)

    def count_by(column: str) -> dict[str, int]:
        return {value or "": n for value, n in engine.store.count_by(which, [column])}

    by_type = count_by("job_type")
    return RetryPlan(sum(by_type.values()), by_type, count_by("organization"), count_by("last_error"))


def retry_many(
    engine: Engine, which: Filter, by: str | None, spread_seconds: float, progress: Callable[[int], None]
) -> int:
    """Each job is retried in a transaction of its own: an interruption leaves nothing half done."""
    which = _retryable(which)
    names = _names(engine, which)
    step = timedelta(seconds=spread_seconds / max(1, len(names) - 1)) if spread_seconds else timedelta()
    start = engine.store.now()
    done = 0
    for i, name in enumerate(names):
        try:
            engine.store.retry(name, by, start + step * i)
            done += 1
        except JobEngineError:  # somebody else has retried or pruned it meanwhile
            pass
        progress(1)
    return done


def _retryable(which: Filter) -> Filter:
    """By default what is in Dead Letter: what somebody canceled is retried only when they say so."""
    if which.status is None:
        return replace(which, status=Status.DEAD_LETTER)
    wanted = [which.status] if isinstance(which.status, str) else which.status
    statuses = [Status(s) for s in wanted]
    for status in statuses:
        if status not in RETRYABLE:
            raise JobEngineError(
                _("Jobs that are {0} cannot be retried; those in one of these states can: {1}.").format(
                    _(status.value), listed(RETRYABLE)
                )
            )
    return replace(which, status=statuses)


def _names(engine: Engine, which: Filter) -> list[str]:
    """The oldest first, so that parents come before their dependents."""
    names: list[str] = []
    after = None
    while page := engine.store.find(which, PAGE, after):
        names += [job.name for job in page]
        after = page[-1].name
    return names[::-1]
