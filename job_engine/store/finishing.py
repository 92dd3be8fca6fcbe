"""End attempts. Every write names the job, its worker and the attempt; where that is not the owner any more, nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby

from job_engine.core.job import Outcome, Transition
from job_engine.core.states import ENDED, Status, check
from job_engine.store import canceling, dependencies, logbook, promoting, stats
from job_engine.store.session import Session

_END = "lease_owner = NULL, lease_expires_at = NULL, modified = %s"
_OWNED = "attempts = %s AND lease_owner = %s AND status = 'Running'"

_COMPLETE = (
    f"UPDATE {{job}} SET status = 'Completed', {_END}, ended_at = %s, dedup_slot = NULL, progress = 100,"
    " result = %s, progress_message = COALESCE(%s, progress_message), last_error = NULL, error_type = NULL,"
    " traceback = NULL, reason = NULL"
)
_FAIL = (
    f"UPDATE {{job}} SET status = %s, {_END}, run_after = COALESCE(%s, run_after), last_error = %s, error_type = %s,"
    " traceback = %s, reason = %s"
)
_DIE = (
    f"UPDATE {{job}} SET status = %s, {_END}, ended_at = %s, dedup_slot = NULL, last_error = %s, error_type = %s,"
    " traceback = %s, reason = %s"
)
_CANCEL = f"UPDATE {{job}} SET status = 'Canceled', {_END}, ended_at = %s, dedup_slot = NULL, reason = %s"
_GIVE_BACK = (
    f"UPDATE {{job}} SET status = %s, {_END}, attempts = attempts - 1, started_at = NULL,"
    " run_after = COALESCE(%s, run_after), reason = %s"
)


def finish(session: Session, worker_id: str, outcomes: Sequence[Outcome], now: datetime) -> set[str]:
    """Write the outcomes of this worker's attempts within the caller's transaction.

    Returns the names of the jobs that were no longer this worker's; for those nothing was written.
    """
    for outcome in outcomes:
        check(outcome.name, Status.RUNNING, outcome.status)
    outcomes = _honour_cancel_requests(session, outcomes)
    owned: list[Outcome] = []
    for key, group in groupby(sorted(outcomes, key=_batch_key), key=_batch_key):
        batch = list(group)
        owned += _write(session, worker_id, batch, key[0], now)
    by_name = {o.name: o for o in owned}
    in_order = [o for o in outcomes if o.name in by_name]
    logbook.record(session, [(o.name, _transition(o, worker_id, now)) for o in in_order])
    stats.record_outcomes(session, in_order, worker_id, now)
    _tell_dependents(session, in_order, now)
    return {o.name for o in outcomes} - by_name.keys()


def _honour_cancel_requests(session: Session, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """A job that somebody wants canceled must not run again."""
    again = [o.name for o in outcomes if o.status not in ENDED]
    if not again:
        return list(outcomes)
    those, parameters = session.dialect.among("name", again)
    unwanted = session.column(
        f"SELECT name FROM {{job}} WHERE {those} AND cancel_requested_at IS NOT NULL{{for_update}}", parameters
    )
    return [
        replace(o, status=Status.CANCELED, give_back=False, reason="canceled by request") if o.name in unwanted else o
        for o in outcomes
    ]


def _batch_key(o: Outcome) -> tuple[int, bool, str, str, str]:
    """Outcomes with the same key are one statement: completions without a result, in most cases all of them."""
    alike = o.status is Status.COMPLETED and o.result is None and o.progress_message is None
    back = o.give_back and o.run_after is None
    return o.attempt, o.give_back, str(o.status), "" if alike or back else o.name, (o.reason or "") if back else ""


def _write(session: Session, worker_id: str, batch: list[Outcome], attempt: int, now: datetime) -> list[Outcome]:
    first = batch[0]
    at = session.dialect.to_db(now)
    run_after = session.dialect.to_db(first.run_after)
    error = (first.error, first.error_type, first.traceback, first.reason)
    if first.give_back:
        update, values = _GIVE_BACK, [str(first.status), at, run_after, first.reason]
    elif first.status is Status.COMPLETED:
        update, values = _COMPLETE, [at, at, first.result, first.progress_message]
    elif first.status is Status.CANCELED:
        update, values = _CANCEL, [at, at, first.reason]
    elif first.status is Status.DEAD_LETTER:
        update, values = _DIE, [str(first.status), at, at, *error]
    else:
        update, values = _FAIL, [str(first.status), at, run_after, *error]
    those, names = session.dialect.among("name", [o.name for o in batch])
    owned = [attempt, worker_id]
    if session.dialect.returns_updated:
        changed = session.column(f"{update} WHERE {those} AND {_OWNED} RETURNING name", [*values, *names, *owned])
    else:  # lock what is ours first: the update alone would not say which rows it found
        changed = session.column(f"SELECT name FROM {{job}} WHERE {those} AND {_OWNED}{{for_update}}", [*names, *owned])
        if changed:
            those, names = session.dialect.among("name", changed)
            session.execute(f"{update} WHERE {those} AND {_OWNED}", [*values, *names, *owned])
    return batch if len(changed) == len(batch) else [o for o in batch if o.name in set(changed)]


def _transition(o: Outcome, worker_id: str, now: datetime) -> Transition:
    return Transition(
        at=now,
        from_status=Status.RUNNING,
        to_status=o.status,
        attempt=o.attempt,
        actor=o.actor or worker_id,
        duration=round(o.duration, 6),
        error_type=o.error_type,
        error=o.error,
        reason=o.reason,
        processed=o.processed,
        failed=o.failed,
    )


def _tell_dependents(session: Session, outcomes: Iterable[Outcome], now: datetime) -> None:
    completed = [o.name for o in outcomes if o.status is Status.COMPLETED]
    if completed:
        unblocked = dependencies.unblock(session, completed, now)
        if unblocked:
            promoting.promote(session, unblocked, now)
    for o in outcomes:
        if o.status is Status.CANCELED:
            canceling.cancel_dependents(session, o.name, o.actor, now)
