"""How the built-in rules judge an error: by its class's name, its database's code, its server's status, its errno.

The rules are asked in the order of RULES at the end of this module; the first answer counts.
"""

from __future__ import annotations

import errno
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from job_engine.core.classify_tables import (
    AWS_THROTTLING,
    DECISIVE,
    GENERAL,
    MYSQL_CODES,
    MYSQL_PACKAGES,
    SQLITE_MESSAGES,
    SQLSTATES,
    TRANSIENT_ERRNOS,
    TRANSIENT_HTTP,
    ErrorType,
    P,
    T,
)

MAX_RETRY_AFTER = 86_400.0  # a server's header may delay a job, not park it for a year


@dataclass(frozen=True)
class Verdict:
    error_type: ErrorType
    retry_after: float | None = None  # seconds the other side asked us to wait
    reason: str = ""  # for the operator: which rule said so


Rule = Callable[[BaseException], "Verdict | None"]


# Names ---------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def names_of(cls: type) -> tuple[str, ...]:
    """The names under which a rule may speak of this very class: "package.module.Class" and "package.Class"."""
    module, name = cls.__module__ or "", cls.__qualname__
    return (f"{module}.{name}", f"{module.partition('.')[0]}.{name}")


def class_of(exc: BaseException) -> Any:  # Any: mypy does not see that a class is hashable
    return type(exc)


@functools.lru_cache(maxsize=1024)
def _named(cls: type, decisive: bool) -> Verdict | None:
    table = DECISIVE if decisive else GENERAL
    for base in cls.__mro__:
        for name in names_of(base):
            if name in table:
                return Verdict(table[name], reason=name)
    return None


def decisive_name(exc: BaseException) -> Verdict | None:
    return _named(class_of(exc), True)


def general_name(exc: BaseException) -> Verdict | None:
    return _named(class_of(exc), False)


@functools.lru_cache(maxsize=1024)
def _packages(cls: type) -> frozenset[str]:
    return frozenset((base.__module__ or "").partition(".")[0] for base in cls.__mro__)


# Databases -----------------------------------------------------------------------------------------------------------


def wrapped_database_error(exc: BaseException) -> Verdict | None:
    """SQLAlchemy keeps the driver's own error in `.orig`."""
    if "sqlalchemy" not in _packages(class_of(exc)):
        return None
    if read(exc, "connection_invalidated") is True:
        return Verdict(T, reason="lost connection")
    orig = read(exc, "orig")
    return judge(orig) if isinstance(orig, BaseException) and orig is not exc else None


def mysql_code(exc: BaseException) -> Verdict | None:
    if _packages(class_of(exc)).isdisjoint(MYSQL_PACKAGES):
        return None
    for code in (read(exc, "errno"), exc.args[0] if exc.args else None):
        if isinstance(code, int) and code in MYSQL_CODES:
            error_type, meaning = MYSQL_CODES[code]
            return Verdict(error_type, reason=f"database error {code}: {meaning}")
    return None


def sqlstate(exc: BaseException) -> Verdict | None:
    state = read(exc, "sqlstate") or read(exc, "pgcode")
    if not isinstance(state, str) or len(state) != 5:
        return None
    known = SQLSTATES.get(state) or SQLSTATES.get(state[:2])
    return Verdict(known[0], reason=f"database error {state}: {known[1]}") if known else None


def sqlite_message(exc: BaseException) -> Verdict | None:
    if "sqlite3" not in _packages(class_of(exc)):
        return None
    message = str(exc.args[0]).lower() if exc.args else ""
    found = next((text for text in SQLITE_MESSAGES if text in message), None)
    return Verdict(T, reason=f"sqlite: {found}") if found else None


# Servers that answered with a status ---------------------------------------------------------------------------------


def aws_throttling(exc: BaseException) -> Verdict | None:
    response = read(exc, "response")
    error = response.get("Error") if isinstance(response, dict) else None
    code = error.get("Code") if isinstance(error, dict) else None
    return Verdict(T, reason=f"AWS {code}") if isinstance(code, str) and code in AWS_THROTTLING else None


def http_status(exc: BaseException) -> Verdict | None:
    status = status_of(exc)
    if status is None:
        return None
    return Verdict(T if status >= 500 or status in TRANSIENT_HTTP else P, reason=f"HTTP status {status}")


def status_of(exc: BaseException) -> int | None:
    """The 4xx or 5xx with which a server answered, wherever the library keeps it."""
    response = read(exc, "response")
    candidates = [read(exc, name) for name in ("http_status", "http_status_code", "status_code", "code", "status")]
    if isinstance(response, dict):
        metadata = response.get("ResponseMetadata")
        candidates.append(metadata.get("HTTPStatusCode") if isinstance(metadata, dict) else None)
    elif response is not None:
        candidates += [read(response, "status_code"), read(response, "status")]
    for status in candidates:
        if isinstance(status, int) and 400 <= status <= 599:
            return int(status)
    return None


def smtp_code(exc: BaseException) -> Verdict | None:
    """SMTP's 4xx asks to try again later, its 5xx refuses for good."""
    code = read(exc, "smtp_code")
    if not isinstance(code, int) or not 400 <= code <= 599 or "smtplib" not in _packages(class_of(exc)):
        return None
    return Verdict(T if code < 500 else P, reason=f"SMTP status {code}")


def retry_after_of(exc: BaseException, now: datetime | None = None) -> float | None:
    """Seconds the other side asked us to wait, from a `retry_after` attribute or a Retry-After header.

    Zero or a date gone by asks for nothing: the usual backoff applies, or the attempts would be used up in one moment.
    """
    response = read(exc, "response")
    headers = [read(exc, "headers"), read(response, "headers")]
    if isinstance(response, dict) and isinstance(response.get("ResponseMetadata"), dict):
        headers.append(response["ResponseMetadata"].get("HTTPHeaders"))
    for asked in (read(exc, "retry_after"), *map(_header, headers)):
        seconds = _seconds(asked, now)
        if seconds is not None and seconds > 0:
            return min(seconds, MAX_RETRY_AFTER)
    return None


def _header(headers: Any) -> Any:
    get = read(headers, "get")
    if not callable(get):
        return None
    try:
        return get("Retry-After") or get("retry-after")
    except Exception:  # somebody's own idea of headers: no answer rather than another error
        return None


def _seconds(asked: Any, now: datetime | None) -> float | None:
    if isinstance(asked, timedelta):
        return asked.total_seconds()
    if asked is None or isinstance(asked, bool) or not isinstance(asked, (int, float, str)):
        return None
    try:
        seconds = float(asked)
        return seconds if math.isfinite(seconds) else None
    except (ValueError, OverflowError):
        return _seconds_until(str(asked), now)


def _seconds_until(http_date: str, now: datetime | None) -> float | None:
    try:
        moment = parsedate_to_datetime(http_date)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)  # "-0000": UTC by another name
    return (moment - (now or datetime.now(timezone.utc))).total_seconds()


# The machine ---------------------------------------------------------------------------------------------------------


def os_errno(exc: BaseException) -> Verdict | None:
    number = read(exc, "errno") if isinstance(exc, OSError) else None
    if not isinstance(number, int) or number not in TRANSIENT_ERRNOS:
        return None
    return Verdict(T, reason=errno.errorcode[number])


def read(obj: Any, name: str) -> Any:
    """An attribute, or None: a property of somebody's error that raises must not hide the error itself."""
    try:
        return getattr(obj, name, None)
    except Exception:
        return None


def judge(exc: BaseException) -> Verdict | None:
    """The built-in rules' answer, or None where no rule knows the error."""
    for rule in RULES:
        verdict = rule(exc)
        if verdict is not None:
            return verdict
    return None


# A database's code or a server's status says more than the class that carries it; names without either come last.
RULES: tuple[Rule, ...] = (
    decisive_name,
    wrapped_database_error,
    mysql_code,
    sqlstate,
    sqlite_message,
    aws_throttling,
    http_status,
    smtp_code,
    os_errno,
    general_name,
)
