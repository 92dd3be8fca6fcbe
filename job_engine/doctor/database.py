"""The database: can it be reached, and is it as the engine needs it?"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from job_engine.core.redact import redact_text
from job_engine.doctor.finding import Finding, Level
from job_engine.engine import Engine
from job_engine.store import schema
from job_engine.store.session import Session
from job_engine.store.sqlite import SQLite

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


def mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return ""


def database_time(session: Session) -> datetime:
    at = session.dialect.from_db(session.value(session.dialect.now))
    assert at is not None
    return at
