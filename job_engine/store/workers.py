"""Which workers are alive: each says so now and then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from job_engine.store.session import Session

ALIVE_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Worker:
    name: str
    host: str
    pid: int
    queues: tuple[str, ...] | None  # None: all
    started_at: datetime
    seen_at: datetime

    def serves(self, queue: str) -> bool:
        return self.queues is None or queue in self.queues


def sign_in(session: Session, worker: Worker) -> None:
    sign_out(session, worker.name)
    session.execute(
        "INSERT INTO {worker} (name, host, pid, queues, started_at, seen_at) VALUES (%s, %s, %s, %s, %s, %s)",
        (
            worker.name,
            worker.host,
            worker.pid,
            None if worker.queues is None else ",".join(worker.queues),
            session.dialect.to_db(worker.started_at),
            session.dialect.to_db(worker.seen_at),
        ),
    )


def seen(session: Session, name: str, now: datetime) -> None:
    session.execute("UPDATE {worker} SET seen_at = %s WHERE name = %s", (session.dialect.to_db(now), name))


def sign_out(session: Session, name: str) -> None:
    session.execute("DELETE FROM {worker} WHERE name = %s", (name,))


def alive(session: Session, now: datetime) -> list[Worker]:
    rows = session.rows(
        "SELECT name, host, pid, queues, started_at, seen_at FROM {worker} WHERE seen_at > %s ORDER BY started_at",
        (session.dialect.to_db(now - timedelta(seconds=ALIVE_SECONDS)),),
    )
    from_db = session.dialect.from_db
    return [
        Worker(
            name,
            host,
            pid,
            None if queues is None else tuple(queues.split(",")),
            from_db(started) or now,
            from_db(at) or now,
        )
        for name, host, pid, queues, started, at in rows
    ]


def forget_silent(session: Session, now: datetime) -> None:
    session.execute("DELETE FROM {worker} WHERE seen_at < %s", (session.dialect.to_db(now - timedelta(days=1)),))
