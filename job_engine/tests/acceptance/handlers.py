"""The application whose jobs the acceptance tests run: well-behaved, slow, deaf and deadly handlers."""

from __future__ import annotations

import ctypes
import os
import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from job_engine import JobContext, job
from job_engine.core.errors import Interrupt
from job_engine.store import sqlite
from job_engine.tests.acceptance import effects
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.waiting import EVERY

EFFECT = "acceptance.effect"
PLAIN = "acceptance.plain"
HELD = "acceptance.held"
STUBBORN = "acceptance.stubborn"
DEADLY = "acceptance.deadly"
BREAKING = "acceptance.breaking"
LISTENING = "acceptance.listening"

BUSY_SECONDS = "JOB_ENGINE_ACCEPTANCE_BUSY_SECONDS"  # how long a worker waits for a locked SQLite file, if not as usual
sqlite.BUSY_SECONDS = float(os.environ.get(BUSY_SECONDS, sqlite.BUSY_SECONDS))


def _note(ctx: JobContext, what: str) -> None:
    Folder.of_this_worker().note(what, ctx.name, ctx.attempt)


@job(EFFECT, retry=0.1, max_attempts=10)
def effect(ctx: JobContext, number: int, most_milliseconds: float = 0.0) -> None:
    """One effect outside the database and one inside."""
    _note(ctx, "effect")
    if most_milliseconds:
        time.sleep(random.uniform(0, most_milliseconds) / 1000)
    effects.record(ctx)


@job(PLAIN)
def plain(number: int) -> None:
    """A millisecond of work that needs no database."""
    time.sleep(0.001)


@job(HELD, retry=0.1, max_attempts=3)
def held(ctx: JobContext, number: int = 0, gate: str | None = None, early_effect: bool = False) -> None:
    """Without a gate, done at once. With one, the first attempt waits until the test opens it."""
    _note(ctx, "started")
    if early_effect:
        effects.record(ctx)
    while gate is not None and ctx.attempt == 1 and not Folder.of_this_worker().is_open(gate):
        time.sleep(EVERY)
    if not early_effect:
        effects.record(ctx)
    _note(ctx, "returned")


@job(LISTENING, retry=0.1, max_attempts=2)
def listening(ctx: JobContext, asks: bool = False) -> None:
    """Goes on until it is told to stop, by asking or by an exception, and then cleans up."""
    _note(ctx, "started")
    try:
        while True:
            if asks:
                ctx.check_canceled()
                time.sleep(EVERY)
            else:
                time.sleep(600)
    except Interrupt as told:
        _note(ctx, type(told).__name__)
        raise
    finally:
        _note(ctx, "cleaned")


# Handlers that do not stop -------------------------------------------------------------------------------------------


def _swallow() -> NoReturn:
    while True:
        try:
            time.sleep(600)
        except BaseException:
            pass


def _hold_the_interpreter() -> None:
    re.match(r"(a+)+$", "a" * 60 + "b")  # in C, with the interpreter's lock, for longer than anybody lives


def _wait_for_an_event() -> None:
    threading.Event().wait()


def _wait_for_bytes() -> None:
    reader, _writer = socket.socketpair()
    reader.recv(1)


WAYS: dict[str, Callable[[], None]] = {
    "swallow": _swallow,
    "hold the interpreter": _hold_the_interpreter,
    "wait for an event": _wait_for_an_event,
    "wait for bytes": _wait_for_bytes,
}
DEAF = ("swallow", "hold the interpreter")  # no exception reaches these
LONG_SQL = {
    "SQLite": "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n",
    "PostgreSQL": "SELECT pg_sleep(600)",
    "MariaDB": "SELECT SLEEP(600)",
}


@job(STUBBORN, retry=0.1, max_attempts=2)
def stubborn(ctx: JobContext, way: str | None = None, number: int = 0, writes: bool = False) -> None:
    """The first attempt goes on for ever in the given way. Without a way, and at the second attempt, done at once."""
    _note(ctx, "started")
    if way is not None and ctx.attempt == 1:
        if writes:
            effects.record(ctx)
        if way == "sql":
            ctx.connection.cursor().execute(LONG_SQL[ctx.engine.store.dialect.name])
        else:
            WAYS[way]()
    effects.record(ctx)


# Handlers that take their process with them --------------------------------------------------------------------------

ENDINGS: dict[str, Callable[[], object]] = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(0),
    "segfault": lambda: ctypes.string_at(0),
}


@job(DEADLY, retry=0.1, max_attempts=3)
def deadly(ctx: JobContext, ending: str | None = None, number: int = 0) -> None:
    """Without an ending, a harmless neighbour."""
    _note(ctx, "started")
    effects.record(ctx)
    if ending is not None:
        ENDINGS[ending]()


# Handlers that break the transaction they share with their neighbours ------------------------------------------------

_OWN_END = {
    "SQLite": None,  # there is no server to ask
    "PostgreSQL": "SELECT pg_terminate_backend(pg_backend_pid())",
    "MariaDB": "KILL CONNECTION_ID()",
}


@job(BREAKING, retry=0.1, max_attempts=3)
def breaking(ctx: JobContext, way: str | None = None, number: int = 0) -> None:
    """Without a way, a harmless neighbour."""
    _note(ctx, "started")
    effects.record(ctx)
    if way == "connection":
        statement = _OWN_END[ctx.engine.store.dialect.name]
        if statement is None:
            ctx.connection.close()
        else:
            ctx.connection.cursor().execute(statement)
    elif way == "commit":  # only the commit itself finds out
        ctx.connection.cursor().execute("INSERT INTO acceptance_child VALUES (1, 2)")
    elif way == "error swallowed":  # on PostgreSQL the transaction is now one that refuses every statement
        try:
            ctx.connection.cursor().execute("SELECT * FROM no_such_table")
        except Exception:
            pass
