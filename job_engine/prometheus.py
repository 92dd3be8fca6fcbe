"""The same numbers in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from job_engine.core.priority import PRIORITIES
from job_engine.core.states import Status
from job_engine.store import measuring, stats

if TYPE_CHECKING:
    from job_engine.engine import Engine

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS = {
    "job_engine_jobs_claimed_total": ("Claims of jobs by workers.", stats.CLAIMED),
    "job_engine_jobs_completed_total": ("Jobs that completed.", str(Status.COMPLETED)),
    "job_engine_jobs_failed_total": ("Attempts that failed and wait for another try.", str(Status.FAILED)),
    "job_engine_jobs_timed_out_total": ("Attempts that ran too long.", str(Status.TIMED_OUT)),
    "job_engine_jobs_retried_total": ("Attempts after which the job runs again.", stats.RETRIED),
    "job_engine_jobs_dead_letter_total": ("Jobs that went to Dead Letter.", str(Status.DEAD_LETTER)),
    "job_engine_jobs_canceled_total": ("Jobs that were canceled.", str(Status.CANCELED)),
}


def prometheus(engine: Engine, organization: str | None = None) -> str:
    with engine.store.session() as session:
        totals = measuring.totals(session, organization, None)
        lanes = [(n, c) for n, c in measuring.waiting_lanes(session) if organization in (None, n.organization)]
        live = measuring.count_live(session, organization)
        oldest = measuring.oldest_queued(session, [lane for lane, _ in lanes])
    age = max(0.0, (engine.store.now() - oldest[1]).total_seconds()) if oldest else 0.0
    workers = len(engine.store.workers())
    lines: list[str] = []
    for name, (help_text, event) in _COUNTERS.items():
        sums: dict[str, int] = {}
        for job_type, found, _, n, _ in totals:
            if found == event:
                sums[job_type] = sums.get(job_type, 0) + n
        lines += _family(name, "counter", help_text, [({"job_type": t}, n) for t, n in sorted(sums.items())])
    lines += _durations(totals)
    depths = [
        ({"priority": p}, sum(n for lane, n in lanes if lane.rank == str(rank))) for rank, p in enumerate(PRIORITIES)
    ]
    lines += _family("job_engine_queue_depth", "gauge", "Queued jobs by priority.", depths)
    states = [({"status": s}, n) for s, n in sorted({**live, "Queued": sum(n for _, n in lanes)}.items())]
    lines += _family("job_engine_jobs", "gauge", "Jobs that have not ended, by status.", states)
    lines += _family(
        "job_engine_oldest_waiting_seconds", "gauge", "How long the oldest queued job has been due.", [({}, age)]
    )
    lines += _family("job_engine_workers", "gauge", "Workers that have been seen lately.", [({}, workers)])
    return "\n".join(lines) + "\n"


def _durations(totals: list[tuple[str, str, int, int, float]]) -> list[str]:
    name = "job_engine_job_duration_seconds"
    lines = [f"# HELP {name} How long completed jobs ran.", f"# TYPE {name} histogram"]
    completed = [row for row in totals if row[1] == Status.COMPLETED]
    for job_type in sorted({row[0] for row in completed}):
        mine = [row for row in completed if row[0] == job_type]
        counts = {bucket: n for _, _, bucket, n, _ in mine}
        below = 0
        for i, bound in enumerate((*stats.BOUNDS, float("inf"))):
            below += counts.get(i, 0)
            le = "+Inf" if bound == float("inf") else f"{bound:g}"
            lines.append(_line(f"{name}_bucket", {"job_type": job_type, "le": le}, below))
        lines.append(_line(f"{name}_sum", {"job_type": job_type}, round(sum(row[4] for row in mine), 6)))
        lines.append(_line(f"{name}_count", {"job_type": job_type}, below))
    return lines


def _family(name: str, kind: str, help_text: str, values: Iterable[tuple[dict[str, str], float]]) -> list[str]:
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}", *(_line(name, labels, n) for labels, n in values)]


def _line(name: str, labels: dict[str, str], value: float) -> str:
    text = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
    return f"{name}{{{text}}} {value}" if labels else f"{name} {value}"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
