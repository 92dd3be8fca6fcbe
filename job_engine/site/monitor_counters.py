"""What happened in a span of time, from the counters: the cost depends on the span and not on how many jobs there were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from job_engine.core.states import Status
from job_engine.metrics import percentile
from job_engine.site.ledger import Account
from job_engine.site.monitor_scope import Scope
from job_engine.store import stats
from job_engine.store.session import Session

if TYPE_CHECKING:
    from job_engine.site.engines import SiteEngine

COMPLETED, DEAD = str(Status.COMPLETED), str(Status.DEAD_LETTER)
# Queued: an attempt whose worker was lost.
RETRIED = (str(Status.FAILED), str(Status.TIMED_OUT), str(Status.QUEUED))
_EVENTS = (stats.CLAIMED, COMPLETED, DEAD, *RETRIED)


@dataclass(frozen=True, slots=True)
class Span:
    """So many bars of so much time, up to now. Whole hours beyond the last three hours: so long a minute is kept."""

    bar: timedelta
    bars: int

    def start(self, now: datetime) -> datetime:
        unit = timedelta(hours=1) if self.bar >= timedelta(hours=1) else timedelta(minutes=1)
        floor = now.replace(second=0, microsecond=0) - (
            timedelta(minutes=now.minute) if unit.seconds > 60 else timedelta()
        )
        return floor + unit - self.bar * self.bars

    @property
    def minutes(self) -> float:
        return (self.bar * self.bars).total_seconds() / 60


SPANS = {
    "1h": Span(timedelta(minutes=1), 60),
    "24h": Span(timedelta(hours=1), 24),
    "7d": Span(timedelta(hours=6), 28),
}


@dataclass(slots=True)
class Sums:
    """Attempts that ended, and how long they waited and took, by bucket."""

    completed: int = 0
    retried: int = 0  # they did not complete, and the job runs again
    dead: int = 0
    waits: dict[int, int] = field(default_factory=dict)
    durations: dict[int, int] = field(default_factory=dict)

    @property
    def ended(self) -> int:
        return self.completed + self.retried + self.dead

    @property
    def failure_rate(self) -> float | None:
        return (self.retried + self.dead) / self.ended if self.ended else None

    def add(self, event: str, bucket: int, n: int) -> None:
        if event == stats.CLAIMED:
            self.waits[bucket] = self.waits.get(bucket, 0) + n
        elif event == COMPLETED:
            self.completed += n
            self.durations[bucket] = self.durations.get(bucket, 0) + n
        elif event == DEAD:
            self.dead += n
        elif event in RETRIED:
            self.retried += n

    def wait(self, share: float) -> float | None:
        return percentile(self.waits, share)

    def duration(self, share: float) -> float | None:
        return percentile(self.durations, share)


@dataclass(slots=True)
class Counted:
    starts: list[datetime]  # of the bars
    bars: list[Sums]
    total: Sums
    by_type: dict[str, Sums]
    accounts: dict[str, Account]  # by organization


def count(engine: SiteEngine, session: Session, span: Span, scope: Scope, now: datetime) -> Counted:
    """Two sums over the same rows of the counters: in the course of time, and by type and organization."""
    start = span.start(now)
    starts = [start + span.bar * i for i in range(span.bars)]
    counted = Counted(starts, [Sums() for _ in starts], Sums(), {}, {})
    conditions, parameters = scope.conditions(engine.store.dialect)
    events, names = engine.store.dialect.among("event", _EVENTS)
    where = f"FROM {{stat}} WHERE at >= %s AND {events}{conditions}"
    bound = [engine.store.dialect.to_db(start), *names, *parameters]
    for at, event, bucket, n in session.rows(
        f"SELECT at, event, bucket, SUM(n) {where} GROUP BY at, event, bucket", bound
    ):
        began = engine.store.dialect.from_db(at) or start
        i = min(int((began - start) / span.bar), span.bars - 1)
        counted.bars[i].add(event, bucket, int(n))
        counted.total.add(event, bucket, int(n))
    for job_type, organization, event, bucket, n, seconds in session.rows(
        f"SELECT job_type, organization, event, bucket, SUM(n), SUM(seconds) {where}"
        " GROUP BY job_type, organization, event, bucket",
        bound,
    ):
        counted.by_type.setdefault(job_type, Sums()).add(event, bucket, int(n))
        if organization:
            account = counted.accounts.setdefault(organization, Account(organization))
            account.add(event, bucket, int(n), float(seconds))
    return counted


def worst_first(by_type: dict[str, Sums]) -> Iterable[tuple[str, Sums]]:
    """The types with the most failures first, then the busiest."""
    return sorted(by_type.items(), key=lambda item: (-(item[1].retried + item[1].dead), -item[1].ended, item[0]))
