"""`job-engine work`: keep a number of worker processes alive, kill those that hang, settle what the dead have held."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from types import FrameType

from job_engine.beacon import Beacon, Seen
from job_engine.child import StandaloneOrders
from job_engine.core.errors import Interrupt, JobCanceled, JobTimeout, StoreUnavailable, WorkerStopping
from job_engine.dispatcher import Housekeeper
from job_engine.engine import Engine
from job_engine.settling import settle
from job_engine.worker_id import new_worker_id

log = logging.getLogger("job_engine.supervisor")

LOOK_SECONDS = 0.2
SLACK_SECONDS = 0.5  # past the grace period, for a worker that is just about to end by itself
QUICK_DEATH_SECONDS = 2.0
LONGEST_RESTART_PAUSE = 10.0


@dataclass
class Child:
    worker_id: str
    process: subprocess.Popen[str]
    beacon: Beacon
    started: float
    cancel_seen: tuple[str, float] | None = None  # a job that somebody wants canceled, and since when we know
    killed_for: Interrupt | None = None


@dataclass(frozen=True)
class Debt:
    """What a dead worker held, still to be settled."""

    worker_id: str
    guilty: Seen | None
    interruption: Interrupt | None


class Supervisor:
    worker_module = "job_engine.child"

    def __init__(
        self,
        engine: Engine,
        url: str,
        app: str | None,
        processes: int,
        queues: tuple[str, ...] | None = None,
        poll_seconds: float = 2.0,
        log_format: str = "console",
        log_level: str = "INFO",
    ):
        self.engine = engine
        self._url, self._app, self._queues = url, app, queues
        self._poll_seconds, self._log_format, self._log_level = poll_seconds, log_format, log_level
        self._wanted = processes
        self._children: list[Child] = []
        self._debts: list[Debt] = []
        self._stopped_at: float | None = None
        self._stop_now = False
        self._wake = threading.Event()
        self._next_tick = 0.0
        self._housekeeper = Housekeeper(engine)
        self._restart_at = 0.0
        self._restart_pause = 0.0

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        log.info("Supervisor started with %s workers", self._wanted, extra={"action": "supervisor_started"})
        try:
            while self._stopped_at is None or self._children:
                self._turn()
                self._wake.wait(LOOK_SECONDS)
                self._wake.clear()
            self._settle_last_debts()
        finally:
            for child in self._children:
                child.process.kill()
        log.info("Supervisor stopped", extra={"action": "supervisor_stopped"})

    def _turn(self) -> None:
        self._bury()
        self._watch()
        if self._stopped_at is None:
            self._fill()
        try:
            self._settle_debts()
            self._tick()
        except StoreUnavailable as error:
            log.warning("%s Waiting for it.", error, extra={"action": "store_away"})
            self.engine.store.close()
            self._next_tick = time.monotonic() + 1.0
        except Exception:
            log.exception(
                "The supervisor failed at one of its duties and goes on", extra={"action": "supervisor_error"}
            )
            self._next_tick = time.monotonic() + 1.0

    # The pool

    def _fill(self) -> None:
        while len(self._children) < self._wanted and time.monotonic() >= self._restart_at:
            self._start()

    def _start(self) -> None:
        with Beacon.memory() as descriptor:
            process = subprocess.Popen(
                [sys.executable, "-m", self.worker_module],
                stdin=subprocess.PIPE,
                text=True,
                pass_fds=[descriptor],
                start_new_session=True,  # Ctrl-C in a terminal reaches the supervisor alone, which then tells its workers
                env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            )
            beacon = Beacon(descriptor)
        worker_id = new_worker_id(process.pid)
        self._children.append(Child(worker_id, process, beacon, time.monotonic()))
        assert process.stdin is not None
        try:
            process.stdin.write(self._orders(worker_id, descriptor) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it died at once; _bury will see
        if self._stopped_at is not None:  # the signal came while it was being started
            process.terminate()

    def _orders(self, worker_id: str, beacon: int) -> str:
        """What the worker is told, as one line of JSON."""
        return StandaloneOrders(
            url=self._url,
            app=self._app,
            worker_id=worker_id,
            beacon=beacon,
            queues=None if self._queues is None else list(self._queues),
            settings=asdict(self.engine.settings),
            poll_seconds=self._poll_seconds,
            log_format=self._log_format,
            log_level=self._log_level,
        ).to_json()

    def _bury(self) -> None:
        for child in [c for c in self._children if c.process.poll() is not None]:
            self._children.remove(child)
            code = child.process.returncode
            told = code == -signal.SIGTERM and self._stopped_at is not None  # before it could listen
            orderly = (code == 0 or told) and child.killed_for is None
            if not orderly:
                log.error(
                    "Worker %s ended with %s (%s); what it held is settled now",
                    child.worker_id,
                    _ending(code),
                    child.killed_for or "unexpected",
                    extra={"action": "worker_ended", "worker": child.worker_id},
                )
            # Also after exit code 0: a handler may have called os._exit(0). A worker that left in order holds nothing.
            self._debts.append(Debt(child.worker_id, child.beacon.look(), child.killed_for))
            self._pace(child, orderly)
            child.beacon.close()
            if child.process.stdin is not None:
                child.process.stdin.close()

    def _pace(self, child: Child, orderly: bool) -> None:
        """A worker that dies as soon as it starts must not be restarted in a hot loop."""
        if orderly or time.monotonic() - child.started > QUICK_DEATH_SECONDS or child.beacon.look() is not None:
            self._restart_pause = 0.0
        else:
            self._restart_pause = min(max(0.2, self._restart_pause * 2), LONGEST_RESTART_PAUSE)
        self._restart_at = time.monotonic() + self._restart_pause

    # Those that hang

    def _watch(self) -> None:
        now = time.monotonic()
        for child in self._children:
            verdict = self._verdict(child, now)
            if verdict is not None and child.killed_for is None:
                log.error(
                    "Worker %s is killed: %s",
                    child.worker_id,
                    verdict,
                    extra={"action": "worker_killed", "worker": child.worker_id},
                )
                child.killed_for = verdict
                child.process.kill()

    def _verdict(self, child: Child, now: float) -> Interrupt | None:
        grace = self.engine.settings.grace_seconds
        if self._stopped_at is not None and (self._stop_now or now > self._stopped_at + grace + SLACK_SECONDS):
            return WorkerStopping()
        seen = child.beacon.look()
        if seen is None:
            return None
        if seen.kill_at is not None and seen.why is not None and now > seen.kill_at + SLACK_SECONDS:
            return seen.why()
        # A handler that keeps the interpreter's lock also keeps the worker's own keeper from judging it.
        if seen.deadline is not None and now > seen.deadline + grace + SLACK_SECONDS:
            return JobTimeout()
        if self._canceled_for(child, seen, now) > grace + 2 * self.engine.settings.cancel_check_seconds:
            return JobCanceled()
        return None

    def _canceled_for(self, child: Child, seen: Seen, now: float) -> float:
        """For how long a cancel request has been known to us without effect."""
        if child.cancel_seen is not None and child.cancel_seen[0] == seen.name:
            return now - child.cancel_seen[1]
        return 0.0

    def _look_for_cancels(self) -> None:
        for child in self._children:
            seen = child.beacon.look()
            if seen is None:
                child.cancel_seen = None
                continue
            wanted = any(held.cancel_requested for held in self.engine.store.held(child.worker_id, [seen.name]))
            if not wanted:
                child.cancel_seen = None
            elif child.cancel_seen is None or child.cancel_seen[0] != seen.name:
                child.cancel_seen = (seen.name, time.monotonic())

    # The database

    def _tick(self) -> None:
        now = time.monotonic()
        if now < self._next_tick or self._stopped_at is not None:
            return
        self.engine.tick()
        self._look_for_cancels()
        due = self.engine.store.next_due()
        wait = self.engine.settings.tick_seconds
        if due is not None:
            wait = min(wait, max(LOOK_SECONDS, (due - self.engine.store.now()).total_seconds()))
        self._next_tick = now + wait
        self._housekeeper.run_if_due()

    def _settle_last_debts(self) -> None:
        try:
            self._settle_debts()
        except StoreUnavailable as error:
            log.error("%s What the workers held will be rescued when their leases expire.", error)

    def _settle_debts(self) -> None:
        while self._debts:
            debt = self._debts[0]
            guilty, attempt = (debt.guilty.name, debt.guilty.attempt) if debt.guilty else (None, 0)
            settle(self.engine, debt.worker_id, guilty, attempt, debt.interruption)
            self.engine.store.sign_out(debt.worker_id)
            self._debts.pop(0)

    # Stopping

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._stopped_at is not None:
            self._stop_now = True
        else:
            self._stopped_at = time.monotonic()
            for child in self._children:
                child.process.terminate()
        self._wake.set()


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
