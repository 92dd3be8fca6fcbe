"""How soon a worker starts a job: an idle one, and one whose runner is still warm."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import frappe

import job_engine
from benchmarks import report
from benchmarks.process import Worker, progress_limit, worker
from benchmarks.report import Figure
from benchmarks.rounds import Plan
from benchmarks.site import bench
from benchmarks.site.contenders import empty_queue
from benchmarks.site.jobs import stamp
from benchmarks.stamps import ENVIRONMENT, Stamps

_GROUP = "Pickup: from the commit to the start of the function"
_LIMIT_SECONDS = 60.0
#: Longer than a runner lingers, so that the next job finds none.
_COLD_SECONDS = (1.2, 1.6)
_WARM_SECONDS = (0.05, 0.5)
_POLL_SECONDS = 0.001
_WARM_UP = 2


def measure(plan: Plan) -> Iterator[Figure]:
    frappe.get_doc("Job Engine Settings").update({"default_organization": bench.organization("Callers")}).save()
    frappe.db.commit()
    cold = plan.samples
    with TemporaryDirectory(prefix="job-engine-benchmark-") as name:
        folder = Path(name)
        slots = 2 * (cold + _WARM_UP) + plan.samples + _WARM_UP
        stamps = Stamps.create(folder / "stamps", slots)
        with worker(bench.worker(), {ENVIRONMENT: str(folder / "stamps")}, folder / "worker.log") as running:
            starts = _Starts(stamps, running)
            plain, idle = [], []
            for _ in range(cold + _WARM_UP):
                for enqueue, delays in ((_plain, plain), (_ours, idle)):
                    delays.append(starts.delay(enqueue, _COLD_SECONDS))
            warm = [starts.delay(_ours, _WARM_SECONDS) for _ in range(plan.samples + _WARM_UP)]
    empty_queue()
    plain, idle, warm = (sorted(delays[_WARM_UP:]) for delays in (plain, idle, warm))
    yield _figure("idle worker", idle, plain, 1)
    yield _figure("a runner is warm", warm, plain, 4)


class _Starts:
    def __init__(self, stamps: Stamps, running: Worker):
        self._stamps = stamps
        self._running = running
        self._slot = -1

    def delay(self, enqueue: Callable[[int], None], gap: tuple[float, float]) -> float:
        """Milliseconds from the commit to the function's start."""
        sleep(random.uniform(*gap))
        self._slot += 1
        slot = self._slot
        enqueue(slot)
        committed = monotonic()
        limit = progress_limit(lambda: self._stamps.get(slot), _LIMIT_SECONDS)
        self._running.wait_until(lambda: self._stamps.get(slot) is not None, _POLL_SECONDS, limit)
        started = self._stamps.get(slot)
        assert started is not None
        return max(0.0, started - committed) * 1000


def _plain(slot: int) -> None:
    frappe.enqueue(stamp, queue=bench.QUEUE, slot=slot)


def _ours(slot: int) -> None:
    job_engine.enqueue(stamp, queue=bench.QUEUE, slot=slot)
    frappe.db.commit()


def _figure(what: str, ours: list[float], plain: list[float], required: float) -> Figure:
    value = median(plain) / median(ours)
    return Figure(
        _GROUP,
        what,
        report.Verdict.OK if value >= required else report.Verdict.MISSED,
        ours=f"{median(ours):.1f} ms",
        compared_with=f"{median(plain):.1f} ms  frappe.enqueue, idle worker",
        measured=f"{value:,.2f}x",
        required=f"at least {required:g}x as soon",
        rounds=f"{ours[0]:.1f} to {ours[-1]:.1f} ms in {len(ours)} jobs; plain {plain[0]:.1f} to {plain[-1]:.1f} ms",
        value=value,
        bound=required,
    )
