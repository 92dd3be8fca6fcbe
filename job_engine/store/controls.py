"""What an operator has paused or limited, by type, queue or organization. One small table, read at every claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from job_engine.core.errors import JobEngineError
from job_engine.core.fairness import available, limit_keys
from job_engine.core.job_type import Rate
from job_engine.core.language import _
from job_engine.core.priority import Lane
from job_engine.store.dialect import Dialect
from job_engine.store.session import Session

COLUMNS = ("scope", "target", "paused_at", "paused_by", "reason", "concurrency", "rate")
SCOPES = ("type", "queue", "organization", "everything")
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Limit:
    concurrency: int | None = None
    rate: Rate | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    scope: str
    target: str
    at: datetime | None  # None: nobody has written down when
    by: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Controls:
    pauses: Mapping[Key, Pause]
    limits: Mapping[Key, Limit]

    def pause_of(self, lane: Lane) -> Pause | None:
        for key in (("everything", ""), ("queue", lane.queue), *limit_keys(lane)):
            if key in self.pauses:
                return self.pauses[key]
        return None


def read(session: Session, code_limits: Mapping[Key, Limit]) -> Controls:
    """The controls in force: what the code says, overridden by what an operator has set."""
    return of_rows(session.rows(f"SELECT {', '.join(COLUMNS)} FROM {{control}}"), code_limits, session.dialect)


def of_rows(rows: Iterable[Sequence[Any]], code_limits: Mapping[Key, Limit], dialect: Dialect) -> Controls:
    """The same of rows that somebody else has read."""
    pauses: dict[Key, Pause] = {}
    limits = dict(code_limits)
    for scope, target, paused_at, paused_by, reason, concurrency, rate in rows:
        at = dialect.from_db(paused_at)
        if at is not None:
            pauses[scope, target] = Pause(scope, target, at, paused_by, reason)
        if concurrency is not None or rate is not None:
            code = limits.get((scope, target), Limit())
            limits[scope, target] = Limit(
                code.concurrency if concurrency is None else concurrency, Rate.parse(rate) or code.rate
            )
    return Controls(pauses, limits)


def pause(session: Session, scope: str, target: str, by: str | None, reason: str | None, now: datetime) -> None:
    _check(scope, target)
    _ensure(session, [(scope, target)])
    session.execute(
        "UPDATE {control} SET paused_at = %s, paused_by = %s, reason = %s WHERE scope = %s AND target = %s",
        (session.dialect.to_db(now), by, reason, scope, target),
    )


def resume(session: Session, scope: str, target: str) -> bool:
    _check(scope, target)
    changed = session.change(
        "UPDATE {control} SET paused_at = NULL, paused_by = NULL, reason = NULL"
        " WHERE scope = %s AND target = %s AND paused_at IS NOT NULL",
        (scope, target),
    )
    if changed:
        session.dialect.announce(session, [""])
    return bool(changed)


def limit(session: Session, scope: str, target: str, concurrency: int | None, rate: Rate | None) -> None:
    """Set a limit for a type or an organization; None for both takes the operator's limit back."""
    if scope not in ("type", "organization"):
        raise JobEngineError(_("{0!r} cannot be limited; a type or an organization can.").format(scope))
    if concurrency is not None and concurrency < 1:
        raise JobEngineError(
            _("The concurrency is {0}; it is 1 or more. To stop all of it, pause it.").format(concurrency)
        )
    _ensure(session, [(scope, target)])
    text = None if rate is None else f"{rate.count}/{rate.seconds:g}s"
    session.execute(
        "UPDATE {control} SET concurrency = %s, rate = %s, tokens = NULL WHERE scope = %s AND target = %s",
        (concurrency, text, scope, target),
    )


def take_room(session: Session, controls: Controls, lanes: Iterable[Lane], now: datetime) -> dict[Key, int]:
    """How many more jobs each limited type and organization may have now.

    Locks the limits concerned until the claim commits: two workers that both saw room for one must not both take it.
    """
    keys = sorted({key for lane in lanes for key in limit_keys(lane) if key in controls.limits})
    if not keys:
        return {}
    _ensure(session, keys)
    buckets = {key: _locked_tokens(session, key) for key in keys}
    running = _running(session)  # counted only now that nobody else can claim under these limits
    room: dict[Key, int] = {}
    for key, (tokens, tokens_at) in buckets.items():
        limit = controls.limits[key]
        allowed: list[int] = []
        if limit.concurrency is not None:
            allowed.append(limit.concurrency - running.get(key, 0))
        if limit.rate is not None:
            allowed.append(int(_tokens_now(limit.rate, tokens, tokens_at, now)))
        room[key] = max(0, min(allowed))
    return room


def use_rates(session: Session, controls: Controls, lanes: Iterable[Lane], now: datetime) -> None:
    """Take a token for each claimed job of a rate-limited type or organization. The rows are locked by take_room."""
    used: dict[Key, int] = {}
    for lane in lanes:
        for key in limit_keys(lane):
            if key in controls.limits and controls.limits[key].rate:
                used[key] = used.get(key, 0) + 1
    for key, n in used.items():
        rate = controls.limits[key].rate
        assert rate is not None
        tokens, tokens_at = _locked_tokens(session, key)
        session.execute(
            "UPDATE {control} SET tokens = %s, tokens_at = %s WHERE scope = %s AND target = %s",
            (_tokens_now(rate, tokens, tokens_at, now) - n, session.dialect.to_db(now), *key),
        )


def _locked_tokens(session: Session, key: Key) -> tuple[float | None, datetime | None]:
    row = session.row("SELECT tokens, tokens_at FROM {control} WHERE scope = %s AND target = %s{for_update}", key) or (
        None,
        None,
    )
    return row[0], session.dialect.from_db(row[1])


def _tokens_now(rate: Rate, tokens: float | None, at: datetime | None, now: datetime) -> float:
    if tokens is None or at is None:
        return float(rate.count)
    return available(tokens, (now - at).total_seconds(), rate.count, rate.seconds)


def _running(session: Session) -> dict[Key, int]:
    counts: dict[Key, int] = {}
    rows: list[tuple[Any, ...]] = session.rows(
        "SELECT job_type, organization, COUNT(*) FROM {job} WHERE status = 'Running' GROUP BY job_type, organization"
    )
    for job_type, organization, n in rows:
        for key in (("type", job_type), ("organization", organization)):
            counts[key] = counts.get(key, 0) + n
    return counts


def _ensure(session: Session, keys: Iterable[Key]) -> None:
    for key in keys:
        if session.row("SELECT 1 FROM {control} WHERE scope = %s AND target = %s", key) is None:
            session.execute(session.dialect.insert_control, key)


def _check(scope: str, target: str) -> None:
    if scope not in SCOPES:
        raise JobEngineError(_("{0!r} cannot be paused. Choose one of: {1}.").format(scope, ", ".join(SCOPES)))
    if scope == "everything" and target:
        raise JobEngineError(
            _("Everything is paused as a whole, not {0!r} of it. Pause a type, queue or organization.").format(target)
        )
    if scope == "type" and not target:
        raise JobEngineError(_("Which type? Name the one to pause or resume."))
    if scope == "queue" and not target:
        raise JobEngineError(_("Which queue? Name the one to pause or resume."))
