"""What an operator wants to know at a glance, for everybody or for one organization."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from job_engine.core.priority import PRIORITIES
from job_engine.core.states import ENDED, Status
from job_engine.store import measuring, stats

if TYPE_CHECKING:
    from job_engine.engine import Engine

WINDOW = timedelta(hours=1)
# An attempt that ends in Queued lost its worker; what was given back is not counted.
_ATTEMPT_ENDS = (Status.COMPLETED, Status.FAILED, Status.TIMED_OUT, Status.DEAD_LETTER, Status.QUEUED)

_ENDED_EVENTS = sorted({event(status) for status in ENDED for event in (stats.entered, stats.left)})


@dataclass(frozen=True, slots=True)
class Metrics:
    organization: str | None
    job_count_by_status: dict[str, int]
    queue_depth_by_priority: dict[str, int]
    job_duration_avg: float | None  # seconds, of what completed in the last hour
    job_duration_p95: float | None
    wait_p95: float | None  # seconds from due to claimed, in the last hour
    failure_rate_by_type: dict[str, float]  # attempts of the last hour that did not complete
    oldest_waiting_job: str | None
    oldest_waiting_seconds: float
    throughput: float  # jobs completed per minute, over the last hour
    workers: int

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def read_metrics(engine: Engine, organization: str | None) -> Metrics:
    now = engine.store.now()
    with engine.store.session() as session:
        lanes = [(n, c) for n, c in measuring.waiting_lanes(session) if organization in (None, n.organization)]
        live = measuring.count_live(session, organization)
        ever = measuring.sums_by_event(session, organization, _ENDED_EVENTS)
        hour = measuring.totals(session, organization, now - WINDOW)
        oldest = measuring.oldest_queued(session, [lane for lane, _ in lanes])
    completed = _histogram(hour, str(Status.COMPLETED))
    seconds = sum(s for _, event, _, _, s in hour if event == Status.COMPLETED)
    done = sum(completed.values())
    return Metrics(
        organization=organization,
        job_count_by_status=_by_status(live, sum(n for _, n in lanes), ever),
        queue_depth_by_priority={
            name: sum(n for lane, n in lanes if lane.rank == str(rank)) for rank, name in enumerate(PRIORITIES)
        },
        job_duration_avg=seconds / done if done else None,
        job_duration_p95=percentile(completed, 0.95),
        wait_p95=percentile(_histogram(hour, stats.CLAIMED), 0.95),
        failure_rate_by_type=_failure_rates(hour),
        oldest_waiting_job=oldest[0] if oldest else None,
        oldest_waiting_seconds=max(0.0, (now - oldest[1]).total_seconds()) if oldest else 0.0,
        throughput=done / (WINDOW.total_seconds() / 60),
        workers=len(engine.store.workers()),
    )


def percentile(histogram: Mapping[int, int], share: float) -> float | None:
    """The duration below which `share` of the counts lie, interpolated within its bucket."""
    total = sum(histogram.values())
    if not total:
        return None
    below, wanted = 0, share * total
    for bucket in sorted(histogram):
        n = histogram[bucket]
        if below + n >= wanted:
            low = stats.BOUNDS[bucket - 1] if bucket else 0.0
            high = stats.BOUNDS[bucket] if bucket < len(stats.BOUNDS) else low
            return low + (high - low) * (wanted - below) / n
        below += n
    return stats.BOUNDS[-1]


def _by_status(live: Mapping[str, int], queued: int, ever: Mapping[str, int]) -> dict[str, int]:
    counts = {str(s): live.get(str(s), 0) for s in Status if s not in ENDED}
    counts[str(Status.QUEUED)] = queued
    for status in ENDED:
        counts[str(status)] = ever.get(stats.entered(status), 0) - ever.get(stats.left(status), 0)
    return {str(s): counts[str(s)] for s in Status}


def _histogram(rows: list[tuple[str, str, int, int, float]], event: str) -> dict[int, int]:
    histogram: dict[int, int] = {}
    for _, found, bucket, n, _ in rows:
        if found == event:
            histogram[bucket] = histogram.get(bucket, 0) + n
    return histogram


def _failure_rates(rows: list[tuple[str, str, int, int, float]]) -> dict[str, float]:
    ended: dict[str, int] = {}
    failed: dict[str, int] = {}
    for job_type, event, _, n, _ in rows:
        if event in _ATTEMPT_ENDS:
            ended[job_type] = ended.get(job_type, 0) + n
            if event != Status.COMPLETED:
                failed[job_type] = failed.get(job_type, 0) + n
    return {job_type: failed.get(job_type, 0) / n for job_type, n in sorted(ended.items())}
