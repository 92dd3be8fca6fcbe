"""Real `bench worker` processes of a test's own, on a queue that nobody else serves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import frappe

from job_engine.core.job import Job
from job_engine.site import engine
from job_engine.tests.site.jobs import EFFECTS

QUEUE = "job_engine_tests"


def wait_until(true: Callable[[], Any], seconds: float = 30.0, what: str = "") -> Any:
    """Wait for something that another process does. Each look sees what was committed by then."""
    until = time.monotonic() + seconds
    while True:
        frappe.db.rollback()
        found = true()
        if found:
            return found
        assert time.monotonic() < until, f"not within {seconds} s: {what or true}"
        time.sleep(0.02)


def know_queue(bench: Path) -> None:
    """A bench knows the queues that its configuration names."""
    file = bench / "sites" / "common_site_config.json"
    config = json.loads(file.read_text())
    if QUEUE not in config.get("workers", {}):
        config.setdefault("workers", {})[QUEUE] = {"timeout": 300}
        file.write_text(json.dumps(config, indent=1))


class BenchWorkers:
    def __init__(self, bench: Path, organization: str):
        self._bench = bench
        self.organization = organization
        self._log = (bench / "logs" / "job_engine_tests.log").open("ab")
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, n: int = 1) -> None:
        self.processes += [self._start() for _ in range(n)]

    def start_pool(self, n: int) -> None:
        self.processes.append(self._start("worker-pool", "--num-workers", str(n)))

    def _start(self, command: str = "worker", *options: str) -> subprocess.Popen[bytes]:
        # With CI, Frappe's workers believe that they are part of its own tests: they send no mail.
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "CI")}
        return subprocess.Popen(
            [sys.executable, "-m", "frappe.utils.bench_helper", "frappe", command, "--queue", QUEUE, *options],
            cwd=self._bench / "sites",
            env=environment,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    def horses(self) -> list[int]:
        """The forks in which RQ jobs run now."""
        return [child for process in self.processes if process.poll() is None for child in _children(process.pid)]

    def kill_horse(self) -> bool:
        for pid in self.horses():
            try:
                os.kill(pid, signal.SIGKILL)
                return True
            except ProcessLookupError:
                pass
        return False

    def replace_dead(self) -> None:
        self.processes = [p if p.poll() is None else self._start() for p in self.processes]

    def stop(self) -> None:
        for process in self.processes:
            for descendant in _descendants(process.pid):
                _kill(descendant)
            process.kill()
            process.wait()
        wait_until(
            lambda: not _guards(), 20, "the guards of runners that were killed: what they settle wakes the next test's"
        )
        self._log.close()

    # Jobs

    def enqueue(self, job_type: str, params: dict[str, Any] | None = None, **options: Any) -> Job:
        job = engine().enqueue(job_type, params or {}, **{"queue": QUEUE, "organization": self.organization, **options})
        frappe.db.commit()
        return job

    def get(self, job: Job | str) -> Job:
        return engine().get(job if isinstance(job, str) else job.name)

    def wait_for(self, job: Job, *statuses: str, seconds: float = 30.0) -> Job:
        wanted = statuses or ("Completed",)
        found: Job = wait_until(
            lambda: (now := self.get(job)).status in wanted and now,
            seconds,
            f"job {job.name} ({job.job_type}) to be {' or '.join(wanted)}; it is {self.get(job)}",
        )
        return found

    def counts(self) -> dict[str, int]:
        return dict(
            frappe.db.sql(
                "SELECT status, COUNT(*) FROM `tabBackground Job` WHERE organization = %s GROUP BY status",
                self.organization,
            )
        )

    def effects(self, kind: str = "ran") -> dict[str, int]:
        """How many effects each job has left."""
        return dict(
            frappe.db.sql(
                f"SELECT e.job, COUNT(*) FROM `{EFFECTS}` e JOIN `tabBackground Job` j ON j.name = e.job"
                " WHERE j.organization = %s AND e.kind = %s GROUP BY e.job",
                (self.organization, kind),
            )
        )


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _descendants(pid: int) -> list[int]:
    return [d for child in _children(pid) for d in (child, *_descendants(child))]


def _guards() -> list[str]:
    """Guards, and what they have called to settle. A process that ends while we look is none."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if b"job_engine.site.settle" in file.read_bytes():
                found.append(file.parent.name)
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
