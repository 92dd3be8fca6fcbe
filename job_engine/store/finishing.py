"""End attempts. Every write names the job, its worker and the attempt; where that is not the owner any more, nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from job_engine.core.job import Outcome
from job_engine.core.states import ENDED, Status, check
from job_engine.store import canceling, dependencies, logbook, promoting, stats
from job_engine.store.leasing import OWNED
from job_engine.store.session import Session

_END = "lease_owner = NULL, lease_expires_at = NULL, modified = %s"
_PROGRESS = "progress = COALESCE(%s, progress), progress_message = COALESCE(%s, progress_message)"

_COMPLETE = (
    f"UPDATE {{job}} SET status = 'Completed', {_END}, ended_at = %s, dedup_slot = NULL, {_PROGRESS},"
    " result = %s, last_error = NULL, error_type = NULL,"
    " traceback = NULL, reason = NULL"
)
_FAIL = (
    f"UPDATE {{job}} SET status = %s, {_END}, {_PROGRESS}, run_after = COALESCE(%s, run_after), last_error = %s, error_type = %s,"
    " traceback = %s, reason = %s"
)
_DIE = (
    f"UPDATE {{job}} SET status = %s, {_END}, {_PROGRESS}, ended_at = %s, dedup_slot = NULL, last_error = %s, error_type = %s,"
    " traceback = %s, reason = %s"
)
_CANCEL = (
    f"UPDATE {{job}} SET status = 'Canceled', {_END}, {_PROGRESS}, ended_at = %s, dedup_slot = NULL,"
    " reason = COALESCE(reason, %s)"  # whoever asked for it may have said why
)
_GIVE_BACK = (
    f"UPDATE {{job}} SET status = %s, {_END}, {_PROGRESS}, attempts = attempts - 1, started_at = NULL,"
    " run_after = COALESCE(%s, run_after), reason = %s"
)


RESCUER = "rescue"  # the actor that ends the attempts of lost workers, and gives its own reason


def finish(session: Session, worker_id: str, outcomes: Sequence[Outcome], now: datetime) -> set[str]:
    """Write the outcomes of this worker's attempts within the caller's transaction.

    Returns the names of the jobs that were no longer this worker's; for those nothing was written.
    """
    for outcome in outcomes:
        check(outcome.name, Status.RUNNING, outcome.status)
    outcomes = _final(session, outcomes)
    written: list[Outcome] = []
    lost: set[str] = set()
    for batch in _batches(outcomes):
        owned = set(_write(session, worker_id, batch, now))
        for outcome in batch:
            if outcome.name in owned:
                written.append(outcome)
            else:
                lost.add(outcome.name)  # also where an earlier batch has ended the attempt: it ends once
    logbook.record_outcomes(session, written, worker_id, now)
    stats.record_outcomes(session, written, worker_id, now)
    _tell_dependents(session, written, now)
    return lost


def _final(session: Session, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes as they may be: what somebody wants canceled, or has no attempt left, does not run again."""
    again = [o.name for o in outcomes if o.status not in ENDED]
    if not again:
        return list(outcomes)
    those, parameters = session.dialect.among("name", again)
    rows = session.rows(
        f"SELECT name, cancel_requested_at, attempts, max_attempts FROM {{job}} WHERE {those}{{for_update}}", parameters
    )
    unwanted = {name for name, requested_at, _, _ in rows if requested_at is not None}
    exhausted = {name: most for name, _, attempts, most in rows if attempts >= most}
    return [_finally(o, unwanted, exhausted) for o in outcomes]


def _finally(o: Outcome, unwanted: set[str], exhausted: dict[str, int]) -> Outcome:
    if o.status in ENDED:
        return o
    if o.name in unwanted:
        return o.evolve(status=Status.CANCELED, give_back=False, reason="canceled by request")
    if o.name in exhausted and not o.give_back:
        reason = o.reason if o.actor == RESCUER else f"all {exhausted[o.name]} attempts were used"
        return o.evolve(status=Status.DEAD_LETTER, run_after=None, reason=reason)
    return o


def _batches(outcomes: Iterable[Outcome]) -> list[list[Outcome]]:
    """Outcomes that one statement can write: completions without a result, in most cases all of them, and releases."""
    alike: dict[tuple[Any, ...], list[Outcome]] = {}
    for o in outcomes:
        if o.status is Status.COMPLETED and o.result is None and o.progress_message is None:
            key: tuple[Any, ...] = (o.attempt,)
        elif o.give_back and o.run_after is None and o.progress is None:
            key = (o.attempt, o.status, o.reason)
        else:
            key = (o.attempt, o.status, o.name)
        alike.setdefault(key, []).append(o)
    return list(alike.values())


def _write(session: Session, worker_id: str, batch: list[Outcome], now: datetime) -> list[str]:
    """Write one batch; the names of the jobs that were still this worker's."""
    first = batch[0]
    at = session.dialect.to_db(now)
    run_after = session.dialect.to_db(first.run_after)
    error = (first.error, first.error_type, first.traceback, first.reason)
    progress = (first.progress, first.progress_message)
    if first.give_back:
        update, values = _GIVE_BACK, [first.status.value, at, *progress, run_after, first.reason]
    elif first.status is Status.COMPLETED:
        update, values = _COMPLETE, [at, at, 100.0, first.progress_message, first.result]
    elif first.status is Status.CANCELED:
        update, values = _CANCEL, [at, *progress, at, first.reason]
    elif first.status is Status.DEAD_LETTER:
        update, values = _DIE, [first.status.value, at, *progress, at, *error]
    else:
        update, values = _FAIL, [first.status.value, at, *progress, run_after, *error]
    those, names = session.dialect.among("name", [o.name for o in batch])
    owned = [first.attempt, worker_id]
    if session.dialect.returns_updated:
        return session.column(f"{update} WHERE {those} AND {OWNED} RETURNING name", [*values, *names, *owned])
    # Lock what is ours first: the update alone would not say which rows it found.
    changed = session.column(f"SELECT name FROM {{job}} WHERE {those} AND {OWNED}{{for_update}}", [*names, *owned])
    if changed:
        those, names = session.dialect.among("name", changed)
        session.execute(f"{update} WHERE {those} AND {OWNED}", [*values, *names, *owned])
    return changed


def _tell_dependents(session: Session, outcomes: Iterable[Outcome], now: datetime) -> None:
    completed = [o.name for o in outcomes if o.status is Status.COMPLETED]
    if completed:
        unblocked = dependencies.unblock(session, completed, now)
        if unblocked:
            promoting.promote(session, unblocked, now)
    for o in outcomes:
        if o.status is Status.CANCELED:
            canceling.cancel_dependents(session, o.name, o.actor, now)
