"""Claim a batch: find the lanes that wait, share them fairly, lock the jobs, make them Running."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Protocol

from job_engine.core.fairness import Candidate, before_the_suspect, pick, shares, turns
from job_engine.core.job import Job
from job_engine.core.priority import Lane, lane_ranges
from job_engine.store import controls, stats
from job_engine.store.controls import Controls, Key
from job_engine.store.rows import CLAIM_COLUMNS, claimed_from_row, unpacked
from job_engine.store.session import Session

# What is Queued was due by the clock of whoever queued it. Each process counts on from another answer of the database, and one
# that was woken for the job must not find that it is a few milliseconds early.
SKEW = timedelta(seconds=1)
MOST_LANES = 200  # looked at in one claim, for each priority; the cursor brings the others their turn


@dataclass
class Cursor:
    """Where this worker is in its rounds: through the organizations of each priority, and through very many lanes."""

    rng: random.Random = field(default_factory=random.Random)
    last_served: dict[str, str] = field(default_factory=dict)
    last_seen: dict[str, str] = field(default_factory=dict)
    held_back: bool = False  # the last claim found jobs waiting and took none: a limit is in force

    def turn(self, rank: str, lanes: Sequence[Lane]) -> str:
        """The organization that was served last. A new worker starts anywhere, so that many short-lived ones are fair."""
        if rank not in self.last_served:
            self.last_served[rank] = self.rng.choice(lanes).organization
        return self.last_served[rank]


class Home(Protocol):
    """What a claim asks of the store it is made for."""

    def waiting_lanes(self, session: Session, ranges: Sequence[tuple[str, str]], most: int) -> Sequence[str]:
        """The lanes of queued jobs within these ranges."""

    def controls_on(self, session: Session) -> Controls:
        """What is paused, and what has limits."""

    def ask_with_claim(self, session: Session, first: Job) -> None:
        """What must be known before the first of the jobs starts: asked in the round trip that commits the claim."""


def claim_batch(
    session: Session,
    worker_id: str,
    limit: int,
    now: datetime,
    lease_seconds: float,
    queues: tuple[str, ...] | None,
    home: Home,
    cursor: Cursor,
) -> list[Job]:
    # Looked up before the transaction: an idle worker takes no lock, and what it saw is checked again by the locking read.
    cursor.held_back = False
    lanes = _waiting_lanes(session, queues, cursor, home)
    if not lanes:
        return []
    in_force = home.controls_on(session)
    lanes = [lane for lane in lanes if in_force.pause_of(lane) is None]
    if not lanes:
        return []
    with session.claim_transaction():
        room = controls.take_room(session, in_force, lanes, now)
        chosen = _choose(session, lanes, limit, room, now, cursor)
        if not chosen:
            cursor.held_back = bool(room)
            return []
        controls.use_rates(session, in_force, [c.lane for c in chosen], now)
        jobs = _take(session, chosen, worker_id, now, lease_seconds)
        session.post_commit()
        home.ask_with_claim(session, jobs[0])
        return jobs


def _choose(
    session: Session, lanes: list[Lane], limit: int, room: dict[Key, int], now: datetime, cursor: Cursor
) -> list[Candidate]:
    chosen: list[Candidate] = []
    for rank, group in groupby(sorted(lanes), key=lambda lane: lane.rank):
        waiting = list(group)
        last_served = cursor.turn(rank, waiting)
        asked = _in_turn(shares(waiting, limit - len(chosen), room), limit - len(chosen), last_served)
        found = _candidates(session, asked, now)
        picked = pick(found, limit - len(chosen), room, last_served)
        if chosen and any(c.lost for c in picked):
            break  # a suspect runs alone: when its turn comes first
        chosen += picked
        if picked:
            cursor.last_served[rank] = before_the_suspect(found, picked) or picked[-1].lane.organization
        # A full share means that more may wait behind it: a lower priority must not overtake that.
        if len(chosen) >= limit or len(found) > len(picked) or _any_full(found, asked, room):
            break
        if any(c.lost for c in chosen):
            break
    return chosen


def _in_turn(asked: dict[Lane, int], limit: int, last_served: str | None) -> dict[Lane, int]:
    """With more organizations than places, only those whose turn it is."""
    served = set(turns((lane.organization for lane in asked), last_served)[:limit])
    return {lane: n for lane, n in asked.items() if lane.organization in served}


def _any_full(found: Sequence[Candidate], asked: Mapping[Lane, int], room: Mapping[Key, int]) -> bool:
    counts: dict[Lane, int] = {}
    for candidate in found:
        counts[candidate.lane] = counts.get(candidate.lane, 0) + 1
    return any(
        n >= asked[lane] and room.get(("type", lane.job_type), 1) and room.get(("organization", lane.organization), 1)
        for lane, n in counts.items()
    )


def _waiting_lanes(session: Session, queues: tuple[str, ...] | None, cursor: Cursor, home: Home) -> list[Lane]:
    """The lanes in which something waits, up to MOST_LANES from where the last look ended. No job inside them is read."""
    found: set[str] = set()
    ranges: list[tuple[str, str]] = []
    for origin, upto in lane_ranges(queues):
        seen = cursor.last_seen.get(origin)
        ranges += (
            [(origin, upto)] if seen is None else [(seen, upto), (origin, f"{seen}!")]
        )  # "!": the seen one included
    if ranges:
        found.update(home.waiting_lanes(session, ranges, MOST_LANES))
    for origin, upto in lane_ranges(queues):
        mine = sorted(lane for lane in found if origin < lane < upto)
        seen = cursor.last_seen.pop(origin, origin)
        if len(mine) >= MOST_LANES:
            cursor.last_seen[origin] = max((lane for lane in mine if lane > seen), default=mine[-1])
    return [Lane.parse(text) for text in sorted(found)]


def _candidates(session: Session, asked: Mapping[Lane, int], now: datetime) -> list[Candidate]:
    found: list[Candidate] = []
    at = session.dialect.to_db(now + SKEW)
    # Where the update cannot return the jobs, they are read here, if all that is read is likely to be taken.
    whole = not session.dialect.returns_updated and len(asked) == 1
    columns = "name, run_after, lost" + (f", {session.dialect.packed(CLAIM_COLUMNS)}" if whole else "")
    for lane, n in asked.items():
        rows = session.rows(
            f"SELECT {columns} FROM {{job}} WHERE status = 'Queued' AND lane = %s AND run_after <= %s"
            " ORDER BY run_after, name LIMIT %s{skip_locked}",
            (str(lane), at, n),
        )
        found += [
            Candidate(name, run_after, lost, lane, *map(unpacked, packed)) for name, run_after, lost, *packed in rows
        ]
    return found


def _take(
    session: Session, chosen: Sequence[Candidate], worker_id: str, now: datetime, lease_seconds: float
) -> list[Job]:
    """Make the locked jobs this worker's. By key alone: they were read as Queued, and locked, in this transaction."""
    dialect = session.dialect
    names = [c.name for c in chosen]
    until = now + timedelta(seconds=lease_seconds)
    those, parameters = dialect.among("name", names)
    update = (
        "UPDATE {job} SET status = 'Running', attempts = attempts + 1, lease_owner = %s, lease_expires_at = %s,"
        f" started_at = %s, ended_at = NULL, reason = NULL, modified = %s WHERE {those}"
    )
    values = [worker_id, dialect.to_db(until), dialect.to_db(now), dialect.to_db(now), *parameters]
    rows: Sequence[Sequence[Any]]
    if dialect.returns_updated:
        rows, more = session.rows(f"{update} RETURNING {CLAIM_COLUMNS}", values), 0
    else:
        session.post(update, values)
        rows, more = [c.row for c in chosen if c.row is not None], 1  # read before the update
        if len(rows) < len(chosen):
            rows, more = _read_back(session, those, parameters), 0
    by_name = {row[0]: claimed_from_row(dialect, row, worker_id, until, now, more) for row in rows}
    jobs = [by_name[name] for name in names]
    stats.record_claims(session, jobs, worker_id, now)
    return jobs


def _read_back(session: Session, those: str, parameters: Sequence[Any]) -> Sequence[Sequence[Any]]:
    where = f"FROM {{job}} WHERE {those}"
    rows = [
        unpacked(text) for text in session.column(f"SELECT {session.dialect.packed(CLAIM_COLUMNS)} {where}", parameters)
    ]
    whole = [row for row in rows if row is not None]
    return whole if len(whole) == len(rows) else session.rows(f"SELECT {CLAIM_COLUMNS} {where}", parameters)
