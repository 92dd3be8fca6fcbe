"""What each organization has used: from the counters, so that the cost depends on the hours and not on the jobs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from job_engine.core.states import Status
from job_engine.metrics import percentile
from job_engine.store import measuring, stats

if TYPE_CHECKING:
    from job_engine.site.engines import SiteEngine

_FAILED = (
    str(Status.FAILED),
    str(Status.TIMED_OUT),
    str(Status.DEAD_LETTER),
    str(Status.QUEUED),
)  # Queued: a lost worker


@dataclass(slots=True)
class Account:
    organization: str
    counts: dict[str, int] = field(default_factory=dict)  # by event
    worker_seconds: float = 0.0
    waits: dict[int, int] = field(default_factory=dict)  # by bucket
    durations: dict[int, int] = field(default_factory=dict)
    waiting: int = 0
    running: int = 0

    @property
    def failed_attempts(self) -> int:
        return sum(self.counts.get(event, 0) for event in _FAILED)

    @property
    def wait_p95(self) -> float | None:
        return percentile(self.waits, 0.95)

    @property
    def duration_p95(self) -> float | None:
        return percentile(self.durations, 0.95)

    def add(self, event: str, bucket: int, n: int, seconds: float) -> None:
        self.counts[event] = self.counts.get(event, 0) + n
        if event == stats.CLAIMED:
            self.waits[bucket] = self.waits.get(bucket, 0) + n
        elif event in (str(Status.COMPLETED), *_FAILED):
            self.worker_seconds += seconds
            if event == Status.COMPLETED:
                self.durations[bucket] = self.durations.get(bucket, 0) + n


def ledger(engine: SiteEngine, hours: int, organizations: Collection[str] | None) -> list[Account]:
    """An account of each organization that had anything to do, the greatest use first. None: of all."""
    accounts: dict[str, Account] = {}

    def account(name: str) -> Account:
        return accounts.setdefault(name, Account(name))

    since = engine.store.dialect.to_db(engine.store.now() - timedelta(hours=hours))
    with engine.store.session() as session:
        rows = session.rows(
            "SELECT organization, event, bucket, SUM(n), SUM(seconds) FROM {stat} WHERE at >= %s"
            " GROUP BY organization, event, bucket",
            (since,),
        )
        running = session.rows(
            "SELECT organization, COUNT(*) FROM {job} WHERE status = 'Running' GROUP BY organization"
        )
        lanes = measuring.waiting_lanes(session)
    for name, event, bucket, n, seconds in rows:
        account(name).add(event, bucket, int(n), float(seconds))
    for name, n in running:
        account(name).running = int(n)
    for lane, n in lanes:
        account(lane.organization or "").waiting += n
    chosen = [
        a for a in accounts.values() if a.organization and (organizations is None or a.organization in organizations)
    ]
    return sorted(chosen, key=lambda a: (-a.worker_seconds, a.organization))
