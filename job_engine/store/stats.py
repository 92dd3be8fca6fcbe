"""Counters that are written with the change they count and summed up when somebody asks.

One row for each minute, type, organization, event and bucket of duration, so that the cost of a question depends on its range
and not on how many jobs there were. Workers write to shards of their own: they never wait for one another here.
"""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from job_engine.core.job import Job, Outcome
from job_engine.core.states import Status
from job_engine.store.session import Session

# Upper bounds in seconds; one more bucket lies above the last.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
SHARDS = 32
FOREVER = datetime(2000, 1, 1, tzinfo=timezone.utc)  # where sums end up that are too old to have a minute of their own

CLAIMED = "claimed"  # its seconds are the wait
RETRIED = "retried"  # an attempt that ended in a state from which the job runs again

_COLUMNS = "at, job_type, organization, event, bucket, shard, n, seconds"

Count = tuple[str, str | None, str, float]  # type, organization, event, seconds


def entered(status: Status) -> str:
    return str(status)


def left(status: Status) -> str:
    return f"left {status}"


def bucket_of(seconds: float) -> int:
    return bisect.bisect_left(BOUNDS, seconds)


def record_claims(session: Session, jobs: Sequence[Job], worker_id: str, now: datetime) -> None:
    record(
        session,
        [(j.job_type, j.organization, CLAIMED, max(0.0, (now - j.run_after).total_seconds())) for j in jobs],
        worker_id,
        now,
    )


def record_outcomes(session: Session, outcomes: Sequence[Outcome], worker_id: str, now: datetime) -> None:
    counts: list[Count] = []
    for o in outcomes:
        if not o.give_back:
            counts.append((o.job_type, o.organization, entered(o.status), o.duration))
            if o.status in (Status.FAILED, Status.TIMED_OUT, Status.QUEUED):
                counts.append((o.job_type, o.organization, RETRIED, 0.0))
    record(session, counts, worker_id, now)


def record(session: Session, counts: Iterable[Count], writer: str, now: datetime) -> None:
    sums: dict[tuple[str, str, str, int], list[float]] = {}
    for job_type, organization, event, seconds in counts:
        entry = sums.setdefault((job_type, organization or "", event, bucket_of(seconds)), [0, 0.0])
        entry[0] += 1
        entry[1] += seconds
    if not sums:
        return
    minute = session.dialect.to_db(now.replace(second=0, microsecond=0))
    shard = zlib.crc32(writer.encode()) % SHARDS
    # Sorted: two writers that share a shard lock its rows in the same order.
    rows = [(minute, *key[:3], key[3], shard, int(n), seconds) for key, (n, seconds) in sorted(sums.items())]
    session.post_insert(session.dialect.upsert_stat, _COLUMNS, rows)  # nobody asks what came of it


def compact(session: Session, now: datetime) -> int:
    """Merge minutes older than three hours into hours, and hours older than eight days into one sum."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    merged = _merge(session, FOREVER, hour - timedelta(days=8), FOREVER)
    edge = hour - timedelta(hours=3)
    first = session.dialect.from_db(
        session.value("SELECT MIN(at) FROM {stat} WHERE at > %s", (session.dialect.to_db(FOREVER),))
    )
    while first is not None and first < edge:
        start = first.replace(minute=0, second=0, microsecond=0)
        merged += _merge(session, start, start + timedelta(hours=1), start)
        first = session.dialect.from_db(
            session.value(
                "SELECT MIN(at) FROM {stat} WHERE at >= %s", (session.dialect.to_db(start + timedelta(hours=1)),)
            )
        )
    return merged


def _merge(session: Session, start: datetime, end: datetime, into: datetime) -> int:
    """Sum up the rows of [start, end) as one row for each key at `into`. Nothing to do when that is already so."""
    span = [session.dialect.to_db(start), session.dialect.to_db(end)]
    unmerged = "at >= %s AND at < %s AND (at > %s OR shard > 0)"
    if session.row(f"SELECT 1 FROM {{stat}} WHERE {unmerged}", [*span, session.dialect.to_db(into)]) is None:
        return 0
    with session.transaction():
        # Summed from what was really deleted: another process may be merging the same hour.
        deleted = session.rows(
            "DELETE FROM {stat} WHERE at >= %s AND at < %s RETURNING job_type, organization, event, bucket, n, seconds",
            span,
        )
        sums: dict[tuple[Any, ...], list[float]] = {}
        for *key, n, seconds in deleted:
            entry = sums.setdefault(tuple(key), [0, 0.0])
            entry[0] += n
            entry[1] += seconds
        at = session.dialect.to_db(into)
        rows = [(at, *key, 0, int(n), seconds) for key, (n, seconds) in sorted(sums.items())]
        for i in range(0, len(rows), 500):
            session.insert(session.dialect.upsert_stat, _COLUMNS, rows[i : i + 500])
    return len(deleted) - len(rows)
