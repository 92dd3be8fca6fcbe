"""The application and its jobs: does somebody run them, and is something stuck?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from job_engine.core.errors import JobEngineError
from job_engine.core.redact import redact_text
from job_engine.core.states import ACTIVE, Status
from job_engine.doctor.finding import Finding, Level
from job_engine.engine import Engine
from job_engine.store import measuring
from job_engine.store.controls import Pause
from job_engine.store.reading import Filter
from job_engine.store.session import Session
from job_engine.store.workers import Worker

LONG_WAIT_SECONDS = 300.0
# Leases that have run out: the next tick takes these back, so that more than a few say that nobody ticks.
_EXPIRED = "SELECT COUNT(*), MIN(lease_expires_at) FROM {job} WHERE status = 'Running' AND lease_expires_at < %s"


def check_jobs(engine: Engine, session: Session) -> Iterator[Finding]:
    lanes = measuring.waiting_lanes(session)
    yield check_workers(engine.store.workers(), sum(n for _, n in lanes))
    yield from check_waiting(engine, session)


def check_waiting(engine: Engine, session: Session) -> Iterator[Finding]:
    """What waits or is stuck, whoever the workers are."""
    now = engine.store.now()
    lanes = measuring.waiting_lanes(session)
    oldest = measuring.oldest_queued(session, [lane for lane, _ in lanes])
    yield check_oldest(oldest, now, engine.command)
    expired, since = session.row(_EXPIRED, (session.dialect.to_db(now),)) or (0, None)
    yield check_leases(expired, session.dialect.from_db(since), now, engine.command)
    yield check_types(_unregistered(engine), bool(len(engine.registry)))
    yield check_dead_letters(engine.count(status=Status.DEAD_LETTER), engine.command)
    yield check_pauses(list(engine.store.controls().pauses.values()), engine.command)


def check_application(engine: Engine, load_types: Callable[[], None], application: str | None) -> Finding:
    try:
        load_types()
    except JobEngineError as error:
        return Finding(
            "application", Level.PROBLEM, redact_text(str(error)), "No worker can start until that is repaired."
        )
    types = len(engine.registry)
    if types:
        return Finding("application", Level.OK, f"{application or 'this process'} registers {types} job types")
    if application is None:
        return Finding(
            "application",
            Level.WARNING,
            "none was named, so that no job type is known here",
            "Name the module that has your @job functions with --app or JOB_ENGINE_APP.",
        )
    return Finding(
        "application",
        Level.PROBLEM,
        f"{application} registers no job type",
        'Name the module that has the @job functions; each is written @job("name").',
    )


def check_types(unregistered: Sequence[tuple[str, int]], any_registered: bool) -> Finding:
    """Without an application nothing is registered: that was said already."""
    if not any_registered:
        return Finding("types", Level.OK, "not checked: no job type is registered here")
    if not unregistered:
        return Finding("types", Level.OK, "every job that has not ended is of a type registered here")
    listed = ", ".join(f"{name} ({n})" for name, n in unregistered)
    return Finding(
        "types",
        Level.PROBLEM,
        f"jobs wait whose type is not registered here: {listed}",
        "A worker with this application would send them to Dead Letter: register the types, under the old names if they "
        "were renamed, or cancel the jobs.",
    )


def _unregistered(engine: Engine) -> list[tuple[str, int]]:
    """Types of jobs that have not ended and that no worker with this application could run, with their numbers."""
    counts = engine.store.count_by(Filter(status=sorted(ACTIVE)), ["job_type", "handler"])
    return [(name, n) for name, handler, n in counts if handler is None and engine.registry.get(name) is None]


def check_workers(workers: Sequence[Worker], queued: int) -> Finding:
    if workers:
        hosts = len({worker.host for worker in workers})
        return Finding("workers", Level.OK, f"{len(workers)} alive on {hosts} machine{'s' if hosts > 1 else ''}")
    if queued:
        return Finding(
            "workers", Level.PROBLEM, f"none alive, and {queued} jobs are queued", "Start `job-engine work`."
        )
    return Finding("workers", Level.WARNING, "none alive", "Start `job-engine work`, or nothing will run.")


def check_oldest(oldest: tuple[str, datetime] | None, now: datetime, command: str) -> Finding:
    if oldest is None:
        return Finding("waiting", Level.OK, "no job is queued")
    name, since = oldest
    seconds = max(0.0, (now - since).total_seconds())
    says = f"the oldest queued job ({name}) has been due for {seconds:.0f} s"
    if seconds <= LONG_WAIT_SECONDS:
        return Finding("waiting", Level.OK, says)
    return Finding(
        "waiting", Level.WARNING, says, f"`{command} explain {name}` says why; if workers are busy, start more."
    )


def check_leases(expired: int, since: datetime | None, now: datetime, command: str) -> Finding:
    if not expired or since is None:
        return Finding("leases", Level.OK, "no running job has lost its worker")
    return Finding(
        "leases",
        Level.WARNING,
        f"{expired} running jobs have lost their worker, the first {(now - since).total_seconds():.0f} s ago",
        f"A tick takes them back: `work` and `dispatch` tick all the time, `{command} rescue` does it now.",
    )


def check_dead_letters(dead: int, command: str) -> Finding:
    if not dead:
        return Finding("dead letters", Level.OK, "none")
    return Finding(
        "dead letters",
        Level.WARNING,
        f"{dead} jobs need a person",
        f"`{command} list --status 'Dead Letter'`, then `retry` those whose cause is gone.",
    )


def check_pauses(pauses: Sequence[Pause], command: str) -> Finding:
    if not pauses:
        return Finding("pauses", Level.OK, "nothing is paused")
    listed = "; ".join(_pause_text(pause) for pause in pauses)
    return Finding("pauses", Level.WARNING, f"paused: {listed}", f"`{command} resume` lets them run again.")


def _pause_text(pause: Pause) -> str:
    by = f" by {pause.by}" if pause.by else ""
    why = f" ({redact_text(pause.reason)})" if pause.reason else ""
    since = f" since {pause.at:%Y-%m-%d %H:%M} UTC" if pause.at else ""
    return f"{pause.scope} {pause.target}".strip() + f"{by}{since}{why}"
