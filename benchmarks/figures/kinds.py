"""The same figure on every database: SQLite, PostgreSQL and MariaDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import report, servers
from benchmarks.ours.databases import KINDS
from benchmarks.report import Figure


def on_each(group: str, figures_on: Callable[[str, Any, Path], Iterable[Figure]]) -> Iterator[Figure]:
    """`figures_on(kind, database, folder)` for an empty database of each kind; one whose server is missing is a line too."""
    for kind, make in KINDS.items():
        with TemporaryDirectory(prefix="job-engine-benchmark-") as name:
            folder = Path(name)
            try:
                database = make(folder)
            except servers.ServerMissing as missing:
                yield report.unmeasured(group, str(missing))
                continue
            with closing(database):
                yield from figures_on(kind, database, folder)
