"""Is everything as it should be? A number of checks, each with what it found and what to do about it.

Each check is a small function that judges what it is given; `examine` asks the database and puts them in order. Nothing here
changes anything, and a database that cannot be reached or has no tables is a finding like any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path

from job_engine.core.errors import JobEngineError
from job_engine.core.redact import redact_text
from job_engine.core.states import ACTIVE, Status
from job_engine.engine import Engine
from job_engine.store import measuring, schema
from job_engine.store.controls import Pause
from job_engine.store.reading import Filter
from job_engine.store.session import Session
from job_engine.store.sqlite import SQLite
from job_engine.store.workers import Worker

LONG_WAIT_SECONDS = 300.0
CLOCK_SECONDS = 5.0
# Locks over a network are what SQLite's own documentation warns of; WAL needs memory that all processes share.
NETWORK_FILESYSTEMS = frozenset(
    "nfs nfs4 cifs smb2 smb3 smbfs 9p afs ceph glusterfs lustre beegfs fuse.sshfs fuse.glusterfs fuse.s3fs".split()
)

_VERSIONS = {
    "SQLite": "SELECT sqlite_version()",
    "PostgreSQL": "SHOW server_version",
    "MariaDB": "SELECT VERSION()",
}
_SCHEMA = "SELECT value FROM {meta} WHERE name = 'schema_version'"
# Leases that have run out: the next tick takes these back, so that more than a few say that nobody ticks.
_EXPIRED = "SELECT COUNT(*), MIN(lease_expires_at) FROM {job} WHERE status = 'Running' AND lease_expires_at < %s"


class Level(str, Enum):
    OK = "ok"
    WARNING = "warning"  # it works, and somebody should look
    PROBLEM = "problem"  # jobs do not run, or promises do not hold

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    level: Level
    says: str
    advice: str | None = None  # what to do; None when all is well


def examine(engine: Engine, load_types: Callable[[], None], application: str | None) -> Iterator[Finding]:
    """Every finding, in the order in which an operator would ask."""
    finding = check_application(engine, load_types, application)
    reachable, session = check_database(engine)
    yield reachable
    if session is None:
        yield finding
        return
    if isinstance(engine.store.dialect, SQLite):
        yield check_filesystem(filesystem_of(Path(engine.store.dialect.path), _mounts()))
        yield check_durability(str(session.value("PRAGMA journal_mode")), int(session.value("PRAGMA synchronous")))
    tables = check_tables(session)
    yield tables
    yield check_clock(_database_time(session), datetime.now(timezone.utc))
    yield finding
    if tables.level is not Level.PROBLEM:
        yield from _check_jobs(engine, session)


def _check_jobs(engine: Engine, session: Session) -> Iterator[Finding]:
    now = engine.store.now()
    lanes = measuring.waiting_lanes(session)
    workers = engine.store.workers()
    yield check_workers(workers, sum(n for _, n in lanes))
    oldest = measuring.oldest_queued(session, [lane for lane, _ in lanes])
    yield check_oldest(oldest, now)
    expired, since = session.row(_EXPIRED, (session.dialect.to_db(now),)) or (0, None)
    yield check_leases(expired, session.dialect.from_db(since), now)
    yield check_types(_unregistered(engine), bool(len(engine.registry)))
    yield check_dead_letters(engine.count(status=Status.DEAD_LETTER))
    yield check_pauses(list(engine.store.controls().pauses.values()))


# The database --------------------------------------------------------------------------------------------------------


def check_database(engine: Engine) -> tuple[Finding, Session | None]:
    """Whether it can be reached, and a session to ask the rest with. A SQLite file that is missing is not created."""
    store = engine.store
    if isinstance(store.dialect, SQLite) and not Path(store.dialect.path).exists():
        return (
            Finding(
                "database",
                Level.PROBLEM,
                f"there is no file {Path(store.dialect.path).absolute()}",
                "Is it the database you mean? If so, `job-engine init` creates it.",
            ),
            None,
        )
    try:
        with store.session() as session:
            version = session.value(_VERSIONS[store.dialect.name])
    except Exception as error:  # whatever a driver raises, it is the finding
        return (
            Finding(
                "database",
                Level.PROBLEM,
                redact_text(str(error)),
                "Check that the server runs and that the URL's host, port, user, password and database are right.",
            ),
            None,
        )
    return Finding("database", Level.OK, f"{store.dialect.name} {version} at {store.dialect.address}"), session


def check_tables(session: Session) -> Finding:
    if not session.dialect.has_table(session, "meta"):
        return Finding("tables", Level.PROBLEM, "there are none", "`job-engine init` creates them.")
    return check_schema(session.value(_SCHEMA))


def check_schema(version: str | None) -> Finding:
    if version == str(schema.VERSION):
        return Finding("tables", Level.OK, f"there, of version {version}")
    if version is not None and int(version) > schema.VERSION:
        return Finding(
            "tables",
            Level.PROBLEM,
            f"of version {version}, made by a newer Job Engine; this one knows {schema.VERSION}",
            "Upgrade Job Engine on this machine.",
        )
    return Finding(
        "tables",
        Level.PROBLEM,
        f"of version {version or 'unknown'}, where {schema.VERSION} is needed",
        "`job-engine init` brings them up to date.",
    )


def check_clock(database: datetime, here: datetime) -> Finding:
    """The database's time counts, so a difference harms no job; it confuses whoever compares logs."""
    apart = abs((database - here).total_seconds())
    if apart <= CLOCK_SECONDS:
        return Finding("clock", Level.OK, "this machine and the database agree")
    late = "behind" if here < database else "ahead of"
    return Finding(
        "clock",
        Level.WARNING,
        f"this machine is {apart:.0f} s {late} the database",
        "Jobs follow the database's time; correct this machine's clock (NTP), or its logs will mislead you.",
    )


def check_filesystem(kind: str | None) -> Finding:
    if kind in NETWORK_FILESYSTEMS:
        return Finding(
            "filesystem",
            Level.PROBLEM,
            f"the SQLite file is on a network filesystem ({kind})",
            "SQLite can lose or corrupt data there: move the file to a local disk, or use PostgreSQL or MariaDB.",
        )
    return Finding("filesystem", Level.OK, f"the SQLite file is on {kind}" if kind else "not known here")


def check_durability(journal: str, synchronous: int) -> Finding:
    if journal.lower() == "wal" and synchronous >= 2:
        return Finding("durability", Level.OK, "WAL with synchronous=FULL: a committed job survives a power cut")
    return Finding(
        "durability",
        Level.PROBLEM,
        f"journal_mode is {journal} and synchronous is {synchronous}, where WAL and 2 (FULL) are needed",
        "Something else changed the file's mode: let no other program set it, and check that the folder can be written.",
    )


def filesystem_of(path: Path, mounts: str) -> str | None:
    """The kind of filesystem under `path`, out of the text of /proc/mounts: the longest mount point that contains it."""
    target = os.path.realpath(path)
    best, kind = "", None
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # a later mount on the same point hides the earlier
            best, kind = point, fields[2]
    return kind


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return ""


def _database_time(session: Session) -> datetime:
    at = session.dialect.from_db(session.value(session.dialect.now))
    assert at is not None
    return at


# The application -----------------------------------------------------------------------------------------------------


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
        "application", Level.WARNING, f"{application} registers no job type", "Do its functions have @job(...)?"
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


# The jobs ------------------------------------------------------------------------------------------------------------


def check_workers(workers: Sequence[Worker], queued: int) -> Finding:
    if workers:
        hosts = len({worker.host for worker in workers})
        return Finding("workers", Level.OK, f"{len(workers)} alive on {hosts} machine{'s' if hosts > 1 else ''}")
    if queued:
        return Finding(
            "workers", Level.PROBLEM, f"none alive, and {queued} jobs are queued", "Start `job-engine work`."
        )
    return Finding("workers", Level.WARNING, "none alive", "Start `job-engine work`, or nothing will run.")


def check_oldest(oldest: tuple[str, datetime] | None, now: datetime) -> Finding:
    if oldest is None:
        return Finding("waiting", Level.OK, "no job is queued")
    name, since = oldest
    seconds = max(0.0, (now - since).total_seconds())
    says = f"the oldest queued job ({name}) has been due for {seconds:.0f} s"
    if seconds <= LONG_WAIT_SECONDS:
        return Finding("waiting", Level.OK, says)
    return Finding(
        "waiting", Level.WARNING, says, f"`job-engine explain {name}` says why; if workers are busy, start more."
    )


def check_leases(expired: int, since: datetime | None, now: datetime) -> Finding:
    if not expired or since is None:
        return Finding("leases", Level.OK, "no running job has lost its worker")
    return Finding(
        "leases",
        Level.WARNING,
        f"{expired} running jobs have lost their worker, the first {(now - since).total_seconds():.0f} s ago",
        "A tick takes them back: `work` and `dispatch` tick all the time, `job-engine rescue` does it now.",
    )


def check_dead_letters(dead: int) -> Finding:
    if not dead:
        return Finding("dead letters", Level.OK, "none")
    return Finding(
        "dead letters",
        Level.WARNING,
        f"{dead} jobs need a person",
        "`job-engine list --status 'Dead Letter'`, then `retry` those whose cause is gone.",
    )


def check_pauses(pauses: Sequence[Pause]) -> Finding:
    if not pauses:
        return Finding("pauses", Level.OK, "nothing is paused")
    listed = "; ".join(_pause_text(pause) for pause in pauses)
    return Finding("pauses", Level.WARNING, f"paused: {listed}", "`job-engine resume` lets them run again.")


def _pause_text(pause: Pause) -> str:
    by = f" by {pause.by}" if pause.by else ""
    why = f" ({redact_text(pause.reason)})" if pause.reason else ""
    return f"{pause.scope} {pause.target}".strip() + f"{by} since {pause.at:%Y-%m-%d %H:%M} UTC{why}"
