"""The demo's database: a file that each run makes anew and leaves for the curious."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from job_engine.core.errors import JobEngineError
from job_engine.demo import effects
from job_engine.store.dialect import TABLES
from job_engine.store.sqlite import SQLite
from job_engine.store.workers import ALIVE_SECONDS

FILE = "job-engine-demo.db"


def make_anew(path: Path) -> str:
    """Make the file, with the demo's own tables. Returns its URL."""
    if path.exists():
        _remove(path)
    with closing(SQLite(str(path)).connect()) as connection:
        effects.create_tables(connection)
    return f"sqlite:///{quote(str(path))}"


def _remove(path: Path) -> None:
    """Remove what an earlier demo has left there, and nothing else."""
    if not _is_a_demos(path):
        raise JobEngineError(f"{path} was not made by this demo and is left as it is. Name another file with --file.")
    pid = _worker_on(path)
    if pid is not None:
        raise JobEngineError(f"A worker (process {pid}) still uses {path}. Stop it, or name another file with --file.")
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _is_a_demos(path: Path) -> bool:
    try:
        return bool(_ask(path, f"SELECT 1 FROM sqlite_master WHERE name = '{effects.MARK}'"))
    except sqlite3.DatabaseError:
        return False


def _worker_on(path: Path) -> int | None:
    """A process that works on what is to be removed: another demo, or `job-engine work`."""
    since = f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{ALIVE_SECONDS} seconds')"
    try:
        pids = [pid for (pid,) in _ask(path, f"SELECT pid FROM {TABLES['worker']} WHERE seen_at > {since}")]
    except sqlite3.OperationalError:  # a demo that was interrupted before the engine had made its tables
        return None
    return next((pid for pid in pids if _is_alive(pid)), None)


def _ask(path: Path, question: str) -> list[tuple[Any, ...]]:
    """Without an engine, which would make tables in whatever file it is shown."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(question).fetchall()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's, and alive
    return True
