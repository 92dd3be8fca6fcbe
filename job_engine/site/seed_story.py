"""Two weeks in the life of a site, made up: jobs, their histories and the counters that follow from them.

Pure: the same random numbers and the same time make the same story. Nothing here knows a database.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from job_engine.core.job_type import JobType
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.site import seed_moment
from job_engine.site.seed_lives import Lives, Story
from job_engine.site.seed_plan import ORGANIZATIONS, OUTAGES, ROUTINES, Routine, Trouble
from job_engine.store import stats
from job_engine.store.workers import Worker

DAYS = 14
HOST = "worker-host"


def tell(registry: Registry, now: datetime, n: int, seed: int) -> Story:
    """About `n` jobs of the past two weeks, and some dozen of this moment."""
    lives = Lives(registry, now, Random(seed))
    lives.story.workers.extend(_workers(now))
    _TwoWeeks(lives).pass_by(n)
    seed_moment.add(lives)
    return lives.story


def _workers(now: datetime) -> Iterator[Worker]:
    for i in range(1, 4):
        started = now - timedelta(hours=9, minutes=7 * i)
        yield Worker(f"{HOST}-{i}:{4100 + i}:{i:08x}", f"{HOST}-{i}", 4100 + i, None, started, now + seed_moment.LEASE)


class _TwoWeeks:
    def __init__(self, lives: Lives):
        self._lives = lives
        self._registry = lives.registry
        self._now = lives.now
        self._rng = lives.rng

    def pass_by(self, n: int) -> None:
        for at in self._moments(n):
            self._live_through(self._lives.new(self._a_type(), self._an_organization(), at))

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

    def _live_through(self, job: dict[str, Any]) -> None:
        """From its creation to its end, or as far as it has come by now."""
        if self._rng.random() < 0.008:
            return self._lives.cancel(job, job["creation"] + timedelta(seconds=self._rng.uniform(20, 900)))
        job_type, routine = self._registry[job["job_type"]], ROUTINES[job["job_type"]]
        due = job["creation"]
        while True:
            claimed = due + timedelta(seconds=self._rng.lognormvariate(-1.2, 1.3))
            trouble = self._trouble(job, routine, claimed)
            took = self._seconds(job_type, routine, trouble)
            ended = claimed + timedelta(seconds=took)
            if ended > self._now:
                return self._lives.put_back(job)
            job["attempts"] += 1
            self._lives.count(claimed, job, stats.CLAIMED, (claimed - due).total_seconds())
            if trouble is None:
                return self._lives.complete(job, claimed, ended)
            if trouble.is_permanent or job["attempts"] >= job["max_attempts"]:
                return self._lives.die(job, claimed, ended, trouble)
            due = ended + timedelta(seconds=job_type.retry.delay(job["attempts"], self._rng))
            self._lives.fail(job, claimed, ended, trouble, due)
            if due > self._now:
                return None
            self._lives.note(job, due, job["status"], Status.QUEUED, actor="tick", reason="due")

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
