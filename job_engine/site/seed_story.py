"""Two weeks in the life of a site, made up: jobs, their histories and the counters that follow from them.

Pure: the same random numbers and the same time make the same story. Nothing here knows a database.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from job_engine.core import canonical
from job_engine.core.fingerprint import job_hash, new_name
from job_engine.core.job_type import JobType
from job_engine.core.priority import PRIORITIES, lane_of
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.site.seed_plan import ORGANIZATIONS, OUTAGES, ROUTINES, Routine, Trouble, slug
from job_engine.store import stats
from job_engine.store.retrying import BY_HAND
from job_engine.store.workers import Worker

DAYS = 14
HOST = "worker-host"
LEASE = timedelta(hours=1)  # so long the running ones stay as they are; then they are rescued, and really run
PAUSED_TYPE, PAUSED_FOR = "price_update", "The suppliers send new price lists tonight"
_TRACEBACK = """Traceback (most recent call last):
  File "apps/shop/shop/jobs.py", line {line}, in {type}
    return client.send(payload)
  File "apps/shop/shop/client.py", line 88, in send
    raise error
{error}"""


@dataclass(frozen=True, slots=True)
class Event:
    """What a counter counts."""

    at: datetime
    job_type: str
    organization: str
    event: str
    seconds: float = 0.0


@dataclass(slots=True)
class Story:
    jobs: list[dict[str, Any]] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    dependencies: list[tuple[str, str]] = field(default_factory=list)  # job, parent
    workers: list[Worker] = field(default_factory=list)


def tell(registry: Registry, now: datetime, n: int, seed: int) -> Story:
    """About `n` jobs of the past two weeks, and some dozen of this moment."""
    return _Teller(registry, now, Random(seed)).tell(n)


class _Teller:
    def __init__(self, registry: Registry, now: datetime, rng: Random):
        self._registry = registry
        self._now = now
        self._rng = rng
        self._story = Story()
        self._number = 1000

    def tell(self, n: int) -> Story:
        for i in range(1, 4):
            started = self._now - timedelta(hours=9, minutes=7 * i)
            name = f"{HOST}-{i}:{4100 + i}:{i:08x}"
            self._story.workers.append(Worker(name, f"{HOST}-{i}", 4100 + i, None, started, self._now + LEASE))
        for at in self._moments(n):
            self._live_through(self._new(self._a_type(), self._an_organization(), at))
        self._this_moment()
        return self._story

    # Choices

    def _moments(self, n: int) -> list[datetime]:
        """When jobs were created: by day more than by night, on some days less, and now as much as ever."""
        weights = [self._bustle(hour) for hour in range(24 * DAYS)]
        chosen = self._rng.choices(range(24 * DAYS), weights, k=n)
        return sorted(self._now - timedelta(hours=hour + self._rng.random(), seconds=5) for hour in chosen)

    def _bustle(self, hours_ago: int) -> float:
        quiet_day = 0.45 if (hours_ago // 24) % 7 in (3, 4) else 1.0
        return quiet_day * (0.6 + 0.4 * math.cos(2 * math.pi * hours_ago / 24))

    def _a_type(self) -> str:
        return self._rng.choices(list(ROUTINES), [r.share for r in ROUTINES.values()])[0]

    def _an_organization(self) -> str:
        return self._rng.choices(list(ORGANIZATIONS), list(ORGANIZATIONS.values()))[0]

    # A job

    def _new(self, type_name: str, organization: str, at: datetime, **columns: Any) -> dict[str, Any]:
        job_type = self._registry[type_name]
        self._number += 1
        params = canonical.encode(columns.pop("given", None) or ROUTINES[type_name].params(self._rng, self._number))
        priority = columns.get("priority", job_type.priority)
        job = {
            "name": new_name(int(at.timestamp() * 1000)),
            "job_type": type_name,
            "status": str(Status.QUEUED),
            "priority": priority,
            "queue": job_type.queue,
            "organization": organization,
            "user": f"user@{slug(organization)}.example.com",
            "params": params,
            "run_after": at,
            "attempts": 0,
            "max_attempts": job_type.max_attempts,
            "timeout": job_type.timeout,
            "job_hash": job_hash(type_name, organization, params),
            "lane": lane_of(priority, job_type.queue, organization, type_name),
            "creation": at,
            "modified": at,
            **columns,
        }
        self._story.jobs.append(job)
        return job

    def _live_through(self, job: dict[str, Any]) -> None:
        """From its creation to its end, or as far as it has come by now."""
        if self._rng.random() < 0.008:
            return self._cancel(job, job["creation"] + timedelta(seconds=self._rng.uniform(20, 900)))
        job_type, routine = self._registry[job["job_type"]], ROUTINES[job["job_type"]]
        due = job["creation"]
        while True:
            claimed = due + timedelta(seconds=self._rng.lognormvariate(-1.2, 1.3))
            trouble = self._trouble(job, routine, claimed)
            took = self._seconds(job_type, routine, trouble)
            ended = claimed + timedelta(seconds=took)
            if ended > self._now:
                return self._put_back(job)
            job["attempts"] += 1
            self._count(claimed, job, stats.CLAIMED, (claimed - due).total_seconds())
            if trouble is None:
                return self._complete(job, claimed, ended)
            if trouble.is_permanent or job["attempts"] >= job["max_attempts"]:
                return self._die(job, claimed, ended, trouble)
            due = ended + timedelta(seconds=job_type.retry.delay(job["attempts"], self._rng))
            self._fail(job, claimed, ended, trouble, due)
            if due > self._now:
                return None
            self._note(job, due, job["status"], Status.QUEUED, actor="tick", reason="due")

    def _trouble(self, job: dict[str, Any], routine: Routine, at: datetime) -> Trouble | None:
        for outage in OUTAGES:
            ago = (self._now - at) / timedelta(hours=1)
            if outage.job_type == job["job_type"] and outage.hours_ago - outage.hours < ago <= outage.hours_ago:
                return Trouble(1.0, outage.text)
        lot = self._rng.random()
        for trouble in routine.troubles:
            lot -= trouble.chance
            if lot < 0:
                return trouble
        return None

    def _seconds(self, job_type: JobType, routine: Routine, trouble: Trouble | None) -> float:
        if trouble is not None and trouble.times_out:
            return float(job_type.timeout)
        return min(routine.seconds * self._rng.lognormvariate(0, routine.spread), job_type.timeout * 0.9)

    # Ends of an attempt

    def _complete(self, job: dict[str, Any], claimed: datetime, ended: datetime) -> None:
        job.update(
            status=str(Status.COMPLETED),
            started_at=claimed,
            ended_at=ended,
            modified=ended,
            progress=100.0,
            result="{}",
        )
        self._attempt(job, claimed, ended, Status.COMPLETED)

    def _fail(self, job: dict[str, Any], claimed: datetime, ended: datetime, trouble: Trouble, due: datetime) -> None:
        status = Status.TIMED_OUT if trouble.times_out else Status.FAILED
        job.update(status=str(status), run_after=due, started_at=claimed, modified=ended, **self._error(job, trouble))
        self._attempt(job, claimed, ended, status, trouble)
        self._count(ended, job, stats.RETRIED)

    def _die(self, job: dict[str, Any], claimed: datetime, ended: datetime, trouble: Trouble) -> None:
        reason = "permanent error" if trouble.is_permanent else "attempts exhausted"
        job.update(
            status=str(Status.DEAD_LETTER), started_at=claimed, ended_at=ended, modified=ended, reason=reason,
            progress=round(self._rng.uniform(0, 90)), **self._error(job, trouble),
        )  # fmt: skip
        self._attempt(job, claimed, ended, Status.DEAD_LETTER, trouble, reason)
        looked_at = ended + timedelta(minutes=self._rng.uniform(10, 400))
        if looked_at < self._now - timedelta(days=1) and self._rng.random() < 0.8:
            self._retry_by_hand(job, looked_at)

    def _retry_by_hand(self, job: dict[str, Any], at: datetime) -> None:
        manager = f"manager@{slug(job['organization'])}.example.com"
        self._note(job, at, job["status"], Status.QUEUED, actor=manager, reason=BY_HAND)
        self._count(at, job, stats.left(Status.DEAD_LETTER))
        job.update(attempts=1, reason=None)
        claimed = at + timedelta(seconds=1)
        self._count(claimed, job, stats.CLAIMED, 1.0)
        self._complete(job, claimed, claimed + timedelta(seconds=ROUTINES[job["job_type"]].seconds))

    def _cancel(self, job: dict[str, Any], at: datetime) -> None:
        if at > self._now:
            return self._put_back(job)
        job.update(
            status=str(Status.CANCELED), ended_at=at, modified=at, canceled_by=job["user"], reason="canceled by hand"
        )
        self._note(job, at, str(Status.PENDING), Status.CANCELED, actor=job["user"], reason="canceled by hand")
        self._count(at, job, stats.entered(Status.CANCELED))

    def _put_back(self, job: dict[str, Any]) -> None:
        """It would still be at work: another time."""
        later = self._now + timedelta(hours=self._rng.uniform(2, 20))
        job.update(status=str(Status.PENDING), run_after=later)

    # What is written down

    def _attempt(
        self, job: dict[str, Any], claimed: datetime, ended: datetime, status: Status, trouble: Trouble | None = None,
        reason: str | None = None,
    ) -> None:  # fmt: skip
        seconds = (ended - claimed).total_seconds()
        worker = self._rng.choice(self._story.workers).name
        details: dict[str, Any] = {"duration": round(seconds, 6), "worker": worker, "claimed_at": claimed}
        if trouble is not None:
            details.update(error=job["last_error"], error_type=job["error_type"], reason=reason)
        self._note(job, ended, str(Status.RUNNING), status, actor=worker, **details)
        self._count(ended, job, stats.entered(status), seconds)

    def _note(self, job: dict[str, Any], at: datetime, before: str, after: Status, **details: Any) -> None:
        entry = {"job": job["name"], "creation": at, "from_status": before, "to_status": str(after)}
        self._story.log.append({**entry, "attempt": job["attempts"], **details})

    def _count(self, at: datetime, job: dict[str, Any], event: str, seconds: float = 0.0) -> None:
        self._story.events.append(Event(at, job["job_type"], job["organization"], event, seconds))

    def _error(self, job: dict[str, Any], trouble: Trouble) -> dict[str, Any]:
        text = trouble.text.format(n=self._number)
        return {
            "last_error": text,
            "error_type": "Permanent" if trouble.is_permanent else "Transient",
            "traceback": _TRACEBACK.format(line=40 + len(job["job_type"]), type=job["job_type"], error=text),
        }

    # This moment

    def _this_moment(self) -> None:
        first, second, third = ORGANIZATIONS
        self._queued()
        orders = self._running(
            0, "import_orders", first, 62.0, "Row 7,440 of 12,000", {"file": "orders-week.csv", "rows": 12_000}
        )
        self._running(
            1, "send_newsletter", second, 31.0, "Sent 2,790 of 9,000", {"campaign": "Autumn", "recipients": 9000}
        )
        self._running(2, "reconcile_bank", third, 84.0, "Line 538 of 640", {"account": "IBAN ending 4821"})
        for warehouse in ("Warehouse A", "Warehouse B"):
            self._behind(orders, "sync_inventory", {"warehouse": warehouse})
        for organization in ORGANIZATIONS:
            self._new(
                "reconcile_bank", organization, self._now - timedelta(hours=3), status=str(Status.PENDING),
                run_after=self._now + timedelta(hours=5), given={"account": "IBAN ending 4821"},
            )  # fmt: skip
        self._family(first)

    def _queued(self) -> None:
        """They wait for a type that is paused: otherwise the site's workers would have run them by now."""
        for i, priority in enumerate(p for p, n in zip(PRIORITIES, (2, 5, 9, 6), strict=True) for _ in range(n)):
            at = self._now - timedelta(minutes=52 - 2 * i)
            self._new(PAUSED_TYPE, list(ORGANIZATIONS)[i % 3], at, priority=priority)

    def _running(
        self, worker: int, type_name: str, organization: str, percent: float, message: str, given: dict[str, Any]
    ) -> dict[str, Any]:
        started = self._now - timedelta(minutes=4 + 3 * worker)
        job = self._new(
            type_name, organization, started - timedelta(seconds=2), status=str(Status.RUNNING), attempts=1,
            started_at=started, lease_owner=self._story.workers[worker].name, lease_expires_at=self._now + LEASE,
            progress=percent, progress_message=message, modified=self._now, given=given,
        )  # fmt: skip
        self._count(started, job, stats.CLAIMED, 2.0)
        return job

    def _behind(self, parent: dict[str, Any], type_name: str, given: dict[str, Any]) -> dict[str, Any]:
        job = self._new(
            type_name, parent["organization"], parent["creation"] + timedelta(seconds=1), status=str(Status.PENDING),
            depends_on=parent["name"], blockers=1, given=given,
        )  # fmt: skip
        self._story.dependencies.append((job["name"], parent["name"]))
        return job

    def _family(self, organization: str) -> None:
        """A month's end: what was collected is done, the statement needs a person, and its e-mail waits for it."""
        at = self._now - timedelta(minutes=95)
        collected = self._new("invoice_pdf", organization, at, given={"invoice": "INV-01000"}, attempts=1)
        self._complete(collected, at + timedelta(seconds=1), at + timedelta(seconds=3))
        statement = self._new(
            "monthly_statement", organization, at + timedelta(seconds=2), depends_on=collected["name"], attempts=1,
            given={"customer": "CUST-0042", "month": "2024-10"},
        )  # fmt: skip
        self._story.dependencies.append((statement["name"], collected["name"]))
        claimed = at + timedelta(seconds=4)
        self._die(
            statement,
            claimed,
            claimed + timedelta(seconds=4),
            Trouble(1.0, "KeyError: 'opening_balance' of CUST-0042", True),
        )
        self._behind(statement, "email_invoice", {"invoice": "INV-01000", "to": "customer-42@example.com"})


def counter_rows(story: Story, now: datetime) -> Iterator[tuple[datetime, str, str, str, int, int, int, float]]:
    """As the counters keep them: minutes for some hours, hours for some days, one sum of what is older."""
    sums: dict[tuple[Any, ...], list[float]] = {}
    hour = now.replace(minute=0, second=0, microsecond=0)
    for e in story.events:
        at = e.at.replace(second=0, microsecond=0)
        if at < hour - timedelta(days=8):
            at = stats.FOREVER
        elif at < hour - timedelta(hours=3):
            at = at.replace(minute=0)
        entry = sums.setdefault((at, e.job_type, e.organization, e.event, stats.bucket_of(e.seconds)), [0, 0.0])
        entry[0] += 1
        entry[1] += e.seconds
    for (at, job_type, organization, event, bucket), (n, seconds) in sorted(sums.items()):
        yield at, job_type, organization, event, bucket, 0, int(n), seconds
