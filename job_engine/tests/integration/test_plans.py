"""The hot queries read through the index meant for them, with the statistics of an empty and of a full table.

A table that only grows must not slow the claim down: the statements are recorded while the engine does its duties, then the
database is asked how it runs them, and how much of the table each SELECT touches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.store.session import Session
from job_engine.tests.clock import FrozenClock

TABLE = "background_job"
ROWS = 21_000  # finished, future and blocked; a third each
FEW = 1_500  # rows that a statement may touch here; a scan of any third of the table is far above

# duty: the indexes that its statements may use; "name" is the primary key
INDEXES = {
    "claim": {"job_claim", "name"},
    "claim with a limit": {"job_claim", "job_lease", "name"},
    "heartbeat": {"name"},
    "held": {"job_lease"},
    "finish": {"name"},
    "promote": {"job_promote", "name"},
    "next_due": {"job_promote"},
    "rescue": {"job_lease", "name"},
    "prune": {"job_ended", "name"},
}

Statement = tuple[str, Sequence[Any]]


def test_the_hot_queries_use_the_indexes_meant_for_them(
    engine: Engine, registry: Registry, clock: FrozenClock, statistics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.job("work", dedup_window=0)(lambda **params: None)
    recorded = _record_duties(engine, clock, monkeypatch)
    assert recorded.keys() == INDEXES.keys()
    wrong: list[str] = []
    with engine.store.session() as session:
        for duty, statements in recorded.items():
            assert statements, f"{duty}: no statement on the table was seen"
            for statement in statements:
                used = _plan(session, statement)
                touched = _touched(session, statement)
                if not used <= INDEXES[duty] or touched > (FEW if used else 10):  # used none: answered while planning
                    wrong.append(f"{duty}: {sorted(used)}, {touched} rows touched: {statement[0].strip()[:300]}")
    assert not wrong, "\n".join([f"with the statistics of {statistics} table:", *wrong])


@pytest.fixture
def engine(blank_database_url: str, clock: FrozenClock, registry: Registry) -> Iterator[Engine]:
    """On tables that were made for this test: no statistics of another one's rows are left."""
    with Engine.open(blank_database_url, clock=clock, registry=registry) as engine:
        yield engine


@pytest.fixture(params=["an empty", "a full"])
def statistics(request: pytest.FixtureRequest, engine: Engine, clock: FrozenClock) -> Iterator[str]:
    statements = _ANALYZE[engine.store.dialect.name]
    with engine.store.session() as session:
        for statement in statements["freeze"]:
            session.execute(statement)
        if request.param == "an empty":
            session.execute(statements["analyze"])
        _fill(session, clock)
        if request.param == "a full":
            session.execute(statements["analyze"])
    yield request.param
    with engine.store.session() as session:
        for statement in statements["thaw"]:
            session.execute(statement)


_ANALYZE: dict[str, dict[str, Any]] = {
    "SQLite": {"freeze": [], "analyze": "ANALYZE", "thaw": []},
    "PostgreSQL": {
        "freeze": ["ALTER TABLE {job} SET (autovacuum_enabled = false)"],
        "analyze": "ANALYZE {job}",
        "thaw": ["ALTER TABLE {job} RESET (autovacuum_enabled)"],
    },
    "MariaDB": {
        "freeze": ["ALTER TABLE {job} STATS_AUTO_RECALC = 0"],
        "analyze": "ANALYZE TABLE {job}",
        "thaw": ["ALTER TABLE {job} STATS_AUTO_RECALC = DEFAULT"],
    },
}

_COLUMNS = (
    "name, job_type, status, priority, queue, organization, params, run_after, max_attempts, job_hash, blockers, lane,"
    " creation, modified, ended_at"
)


def _fill(session: Session, clock: FrozenClock) -> None:
    to_db = session.dialect.to_db
    now = clock.now
    rows: list[tuple[Any, ...]] = []
    for i in range(ROWS):
        kind = i % 3
        status = ("Completed", "Pending", "Pending" if i % 2 else "Failed")[kind]
        blockers = int(kind == 2)
        organization = f"o{i % 50}"
        ended = to_db(now - timedelta(minutes=i)) if kind == 0 else None
        due = to_db(now + timedelta(hours=1, seconds=i) if kind == 1 else now - timedelta(hours=1, seconds=i))
        made = to_db(now - timedelta(days=30))
        lane = f"2|default|{organization}|work"
        common = (f"filler{i:06}", "work", status, "Normal", "default", organization, "{}", due, 5, f"h{i}", blockers)
        rows.append((*common, lane, made, made, ended))
    places = ", ".join([f"({', '.join(['%s'] * len(rows[0]))})"] * 1000)
    with session.transaction():
        for i in range(0, ROWS, 1000):
            values = [value for row in rows[i : i + 1000] for value in row]
            session.execute(f"INSERT INTO {{job}} ({_COLUMNS}) VALUES {places}", values)


def _record_duties(engine: Engine, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Statement]]:
    store = engine.store
    seen: list[Statement] = []
    execute = Session.execute

    # By hundreds of names, to read the whole of a small table is the cheaper way: that says nothing about a large one.
    def spy(self: Session, template: str, params: Sequence[Any] = ()) -> Any:
        in_bulk = len(repr(params)) > 3000
        if "{job}" in template and not template.lstrip().startswith("INSERT") and not in_bulk:
            seen.append((template, list(params)))
        return execute(self, template, params)

    monkeypatch.setattr(Session, "execute", spy)

    def during(act: Callable[[], Any]) -> list[Statement]:
        seen.clear()
        act()
        return list(dict.fromkeys((template, tuple(params)) for template, params in map(_hashable, seen)))

    for i in range(12):
        engine.enqueue("work", {"i": i}, organization=f"o{i}")
        engine.enqueue("work", {"i": i}, organization=f"o{i}", run_after=1)
    recorded = {"claim": during(lambda: store.claim_batch("w1", 5))}
    engine.limit("type", "work", concurrency=50)
    recorded["claim with a limit"] = during(lambda: store.claim_batch("w1", 5))
    names = [held.name for held in store.held("w1")]
    recorded["held"] = during(lambda: store.held("w1"))
    recorded["heartbeat"] = during(lambda: store.heartbeat("w1", names))
    recorded["finish"] = during(lambda: store.mark_success(names[0], "w1", 1))
    clock.advance(2)
    recorded["promote"] = during(store.promote)
    recorded["next_due"] = during(store.next_due)
    clock.advance(120)
    recorded["rescue"] = during(store.rescue)
    before = clock.now - timedelta(days=10)
    recorded["prune"] = during(lambda: store.prune(Status.COMPLETED, before))
    monkeypatch.undo()
    return recorded


def _hashable(statement: Statement) -> Statement:
    return statement[0], [tuple(p) if isinstance(p, list) else p for p in statement[1]]


def _listed(statement: Statement) -> Statement:
    return statement[0], [list(p) if isinstance(p, tuple) else p for p in statement[1]]


# How each database tells its plan, and what a SELECT touched


def _plan(session: Session, statement: Statement) -> set[str]:
    """The indexes through which the statement reads the table of jobs; "every row" where it uses none."""
    template, params = _listed(statement)
    dialect = session.dialect.name
    if dialect == "SQLite":
        details = [row[3] for row in session.rows(f"EXPLAIN QUERY PLAN {template}", params)]
        return {_sqlite_index(d) for d in details if d.split()[:1] in (["SCAN"], ["SEARCH"]) and _is_job(d.split()[1])}
    if dialect == "PostgreSQL":
        (plan,) = session.value(f"EXPLAIN (FORMAT JSON) {template}", params)
        scans = [node for node in _nodes(plan["Plan"]) if "Scan" in node["Node Type"]]
        return {_postgresql_index(scan) for scan in scans if scan.get("Relation Name", TABLE) == TABLE} - {""}
    rows = session.rows(f"EXPLAIN {template}", params)
    return {_mariadb_index(row) for row in rows if row[2] is not None and _is_job(row[2])}


def _is_job(alias: str) -> bool:
    return alias in (TABLE, "j", "c", "p")


def _sqlite_index(detail: str) -> str:
    if "PRIMARY KEY" in detail or "sqlite_autoindex" in detail:
        return "name"
    words = detail.split()
    return words[words.index("INDEX") + 1] if "INDEX" in words else "every row"


def _postgresql_index(node: dict[str, Any]) -> str:
    index = node.get("Index Name")
    if index is None:
        return "every row" if node["Node Type"] in ("Seq Scan", "Parallel Seq Scan") else ""
    return "name" if index.endswith("_pkey") else str(index)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _mariadb_index(row: Sequence[Any]) -> str:
    key = row[5]
    return "every row" if key is None else "name" if key == "PRIMARY" else str(key)


def _touched(session: Session, statement: Statement) -> int:
    """How many rows, or steps of a like cost, the SELECT takes now. Changes are not carried out again."""
    template, params = _listed(statement)
    if not template.lstrip().startswith(("SELECT", "WITH")):
        return 0
    dialect = session.dialect.name
    if dialect == "SQLite":
        steps = [0]

        def count() -> int:
            steps[0] += 1
            return 0

        session.connection.set_progress_handler(count, 20)  # a row costs some twenty of SQLite's instructions
        session.rows(template, params)
        session.connection.set_progress_handler(None, 0)
        return steps[0]
    if dialect == "PostgreSQL":
        (plan,) = json.loads(json.dumps(session.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {template}", params)))
        # A bitmap of the index also counts rows that are deleted and not vacuumed; its heap scan counts what is there.
        nodes = [n for n in _nodes(plan["Plan"]) if "Scan" in n["Node Type"] and n["Node Type"] != "Bitmap Index Scan"]
        return int(sum((n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"] for n in nodes))
    before = _handler_reads(session)
    session.rows(template, params)
    return _handler_reads(session) - before


def _handler_reads(session: Session) -> int:
    return sum(int(value) for _, value in session.rows("SHOW SESSION STATUS LIKE 'Handler_read%%'"))
