"""Who goes first. Pure: lanes and candidates in, a batch out.

Priority comes first, then organizations take turns, then the job that has been due the longest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from job_engine.core.priority import Lane


class Candidate(NamedTuple):
    name: str
    run_after: object  # comparable; the store's own form of a time
    lost: int
    lane: Lane
    row: Sequence[Any] | None = None  # the whole job, where the store has read it already


def turns(organizations: Iterable[str], last_served: str | None) -> list[str]:
    """The organizations in the order of their turns: those after the one served last come first."""
    ordered = sorted(set(organizations))
    if last_served is None:
        return ordered
    return [o for o in ordered if o > last_served] + [o for o in ordered if o <= last_served]


def shares(lanes: Sequence[Lane], limit: int, room: Mapping[tuple[str, str], int]) -> dict[Lane, int]:
    """How many candidates to look at in each lane of one priority: an equal share for each organization.

    `room` says how many more a limited type or organization may have; a lane without room is left out.
    """
    asked: dict[Lane, int] = {}
    share = math.ceil(limit / max(1, len({lane.organization for lane in lanes})))
    for lane in lanes:
        allowed = min(share, *(room.get(key, share) for key in limit_keys(lane)))
        if allowed > 0:
            asked[lane] = allowed
    return asked


def pick(
    candidates: Sequence[Candidate], limit: int, room: dict[tuple[str, str], int], last_served: str | None = None
) -> list[Candidate]:
    """The batch, in the order in which it should run. Uses up `room`."""
    if not room and len({c.lane for c in candidates}) == 1 and not any(c.lost for c in candidates):
        return list(candidates[:limit])  # one lane without limits, in order as it was read: nothing to weigh up
    mine: dict[str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda c: (c.run_after, c.name)):
        mine.setdefault(candidate.lane.organization, []).append(candidate)
    order = turns(mine, last_served)
    rounds = [mine[o][i] for i in range(max(map(len, mine.values()), default=0)) for o in order if i < len(mine[o])]
    chosen: list[Candidate] = []
    for candidate in _apart_from_suspects(rounds):
        if len(chosen) == limit:
            break
        keys = [key for key in limit_keys(candidate.lane) if key in room]
        if all(room[key] > 0 for key in keys):
            for key in keys:
                room[key] -= 1
            chosen.append(candidate)
    return chosen


def before_the_suspect(found: Sequence[Candidate], picked: Sequence[Candidate]) -> str | None:
    """Whom to take for served last when a suspect was passed over, so that its organization comes first next time."""
    passed = [c.lane.organization for c in found if c.lost and c not in picked]
    if not passed:
        return None
    ordered = sorted({c.lane.organization for c in found})
    return ordered[ordered.index(passed[0]) - 1]


def limit_keys(lane: Lane) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("type", lane.job_type), ("organization", lane.organization)


def _apart_from_suspects(candidates: list[Candidate]) -> list[Candidate]:
    """A job that may have killed its worker runs alone, so that it cannot use up the attempts of its neighbours."""
    if candidates and candidates[0].lost:
        return candidates[:1]
    return [c for c in candidates if not c.lost]


def available(tokens: float, seconds_since: float, count: int, per_seconds: float) -> float:
    """A token bucket's content: what was left, plus what has dripped in since, at most `count`."""
    return min(float(count), tokens + max(0.0, seconds_since) * count / per_seconds)
