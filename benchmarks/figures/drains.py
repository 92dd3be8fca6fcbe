"""How fast one worker process empties a queue of no-op jobs, beside the peer on the same storage."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks import report, servers
from benchmarks.ours.contender import JobEngine
from benchmarks.report import Figure
from benchmarks.rounds import Entry, Plan, best, take_turns

_DRAIN = "drain of no-op jobs"


def ours(kind: str) -> Entry:
    return Entry(partial(JobEngine, kind=kind))


def sqlite(plan: Plan) -> Iterator[Figure]:
    from benchmarks.peers.huey_sqlite import HueySqlite

    mine, huey, unsafe = take_turns(
        plan, [ours("sqlite"), Entry(HueySqlite, 0.5), Entry(partial(HueySqlite, fsync=False), 0.5)]
    )
    yield report.ratio("SQLite", _DRAIN, mine, huey, "huey SqliteHuey", 3)
    yield report.ratio("SQLite", "the same, huey without fsync", mine, unsafe, "huey SqliteHuey, fsync off")


def postgresql(plan: Plan) -> Iterator[Figure]:
    from benchmarks.peers import pgqueuer_postgresql, procrastinate_postgresql

    servers.url("postgresql")
    mine, pgqueuer, procrastinate = take_turns(
        plan,
        [
            ours("postgresql"),
            best(plan, pgqueuer_postgresql.candidates()),
            best(plan, procrastinate_postgresql.candidates(), 0.1),
        ],
    )
    yield report.ratio("PostgreSQL", _DRAIN, mine, procrastinate, "procrastinate", 10)
    yield report.ratio("PostgreSQL", _DRAIN, mine, pgqueuer, "pgqueuer", 1)


def mariadb(plan: Plan) -> Iterator[Figure]:
    from benchmarks.peers.rq_redis import RqRedis

    servers.url("mariadb"), servers.url("redis")
    mine, rq = take_turns(plan, [ours("mariadb"), Entry(RqRedis, 0.02)])
    yield report.ratio("MariaDB", _DRAIN, mine, rq, "rq, default worker", 40)
