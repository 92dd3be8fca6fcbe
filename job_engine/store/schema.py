"""The tables of the standalone home. A Frappe site has doctypes for two of them, and takes the others and the indexes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from job_engine.core.errors import JobEngineError
from job_engine.store.session import Session

VERSION = 1

_TABLES = """
CREATE TABLE IF NOT EXISTS {meta} (
    name {key} PRIMARY KEY,
    value {text} NOT NULL
){suffix};

CREATE TABLE IF NOT EXISTS {job} (
    name {key} PRIMARY KEY,
    job_type {key} NOT NULL,
    status {key} NOT NULL,
    priority {key} NOT NULL,
    queue {key} NOT NULL,
    organization {key} NOT NULL DEFAULT '',
    {user} {key},
    handler {text},
    params {long} NOT NULL,
    run_after {time} NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL,
    lost integer NOT NULL DEFAULT 0,
    timeout integer NOT NULL DEFAULT 0,
    job_hash {key} NOT NULL,
    dedup_key {key},
    dedup_slot {key},
    depends_on {key},
    blockers integer NOT NULL DEFAULT 0,
    progress double precision NOT NULL DEFAULT 0,
    progress_message {text},
    result {long},
    checkpoint {long},
    last_error {long},
    error_type {key},
    traceback {long},
    reason {long},
    lease_owner {key},
    lease_expires_at {time} NULL,
    started_at {time} NULL,
    ended_at {time} NULL,
    cancel_requested_at {time} NULL,
    canceled_by {key},
    lane {lane} NOT NULL,
    creation {time} NOT NULL,
    modified {time} NOT NULL
){suffix};

CREATE TABLE IF NOT EXISTS {dependency} (
    job {key} NOT NULL,
    parent {key} NOT NULL,
    PRIMARY KEY (parent, job)
){suffix};

CREATE TABLE IF NOT EXISTS {log} (
    id {serial},
    job {key} NOT NULL,
    creation {time} NOT NULL,
    from_status {key} NOT NULL,
    to_status {key} NOT NULL,
    attempt integer NOT NULL,
    actor {key},
    worker {key},
    claimed_at {time} NULL,
    duration double precision,
    error_type {key},
    error {text},
    reason {text},
    processed integer,
    failed integer{log_key}
){suffix};

CREATE TABLE IF NOT EXISTS {control} (
    scope {key} NOT NULL,
    target {key} NOT NULL,
    paused_at {time} NULL,
    paused_by {key},
    reason {text},
    concurrency integer,
    rate {key},
    tokens double precision,
    tokens_at {time} NULL,
    PRIMARY KEY (scope, target)
){suffix};

CREATE TABLE IF NOT EXISTS {stat} (
    at {time} NOT NULL,
    job_type {key} NOT NULL,
    organization {key} NOT NULL,
    event varchar(40) NOT NULL,
    bucket integer NOT NULL,
    shard integer NOT NULL,
    n bigint NOT NULL,
    seconds double precision NOT NULL,
    PRIMARY KEY (at, job_type, organization, event, bucket, shard)
){suffix};

CREATE TABLE IF NOT EXISTS {worker} (
    name {key} PRIMARY KEY,
    host {key} NOT NULL,
    pid integer NOT NULL,
    queues {text},
    started_at {time} NOT NULL,
    seen_at {time} NOT NULL
){suffix};
"""

# Of every column that is no text.
COLUMN_TYPES = dict(re.findall(r"^    (\w+) (\{time\}|integer|bigint|double precision)", _TABLES, re.MULTILINE))

# One index for each hot query. Where the database has partial indexes, an index holds only the rows its query may read,
# so that it stays small whatever the table's size, and a change of state touches two of them and no more.
_INDEXES: tuple[tuple[str, str, str, str], ...] = (
    # name, table, columns, condition
    ("job_claim", "{job}", "lane, run_after, name", "status = 'Queued'"),
    ("job_lease", "{job}", "lease_expires_at", "status = 'Running'"),
    ("job_promote", "{job}", "blockers, run_after, status", "status IN ('Pending', 'Failed', 'Timed Out')"),
    ("job_ended", "{job}", "status, ended_at", "status IN ('Completed', 'Dead Letter', 'Canceled')"),
    ("log_job", "{log}", "job, id", ""),
    ("dependency_job", "{dependency}", "job", ""),
)
_WHOLE_INDEXES = (
    ("job_claim", "{job}", "status, lane, run_after, name", ""),
    ("job_lease", "{job}", "status, lease_expires_at", ""),
    ("job_promote", "{job}", "status, blockers, run_after", ""),
    ("job_ended", "{job}", "status, ended_at", ""),
    ("log_job", "{log}", "job, id", ""),
    ("dependency_job", "{dependency}", "job", ""),
)
# The database, not a look before the insert, is what prevents duplicates.
_UNIQUE = (
    ("job_dedup_key", "{job}", "organization, dedup_key", "dedup_key IS NOT NULL"),
    ("job_dedup_slot", "{job}", "dedup_slot", "dedup_slot IS NOT NULL"),
)


def create(session: Session) -> None:
    """Create what is missing. Any number of processes may call this at once, and again at every start."""
    found = _version(session)
    if found is not None and found > VERSION:
        raise JobEngineError(
            f"The tables are of version {found}, made by a newer Job Engine; this one knows {VERSION}. Upgrade it."
        )
    if found == VERSION:
        return
    with session.transaction(), session.dialect.schema_lock(session):
        if _version(session) != VERSION:
            _create(session)


def table_definition(word: str, types: Mapping[str, str]) -> str:
    """The template that creates one table, for a home that has others for the rest."""
    for statement in _TABLES.split(";"):
        if f"CREATE TABLE IF NOT EXISTS {{{word}}} " in statement:
            return _typed(statement.strip(), types)
    raise LookupError(word)


def index_definitions(partial: bool) -> list[tuple[str, str, str, str, str]]:
    """Kind, name, table, columns and condition of every index; without conditions where the database knows none."""
    whole = [("INDEX", *index) for index in (_INDEXES if partial else _WHOLE_INDEXES)]
    return [("UNIQUE INDEX", n, t, c, condition if partial else "") for n, t, c, condition in _UNIQUE] + whole


def _create(session: Session) -> None:
    dialect = session.dialect
    for statement in _TABLES.split(";"):
        if statement.strip():
            session.execute(_typed(statement, dialect.types))
    for kind, name, table, columns, condition in index_definitions(dialect.partial_indexes):
        if name == "log_job" and dialect.types["log_key"]:
            continue
        where = f" WHERE {condition}" if condition else ""
        session.execute(f"CREATE {kind} IF NOT EXISTS {name} ON {table} ({columns}){where}")
    for statement in dialect.tuning:
        session.execute(statement)
    session.execute("DELETE FROM {meta} WHERE name = 'schema_version'")
    session.execute("INSERT INTO {meta} (name, value) VALUES ('schema_version', %s)", (str(VERSION),))


def _version(session: Session) -> int | None:
    if not session.dialect.has_table(session, "meta"):
        return None
    found = session.value("SELECT value FROM {meta} WHERE name = 'schema_version'")
    return None if found is None else int(found)


def _typed(statement: str, types: Mapping[str, str]) -> str:
    for word, sql in types.items():
        statement = statement.replace("{" + word + "}", sql)
    return statement
