"""Where the verbs are at home: what differs between a program of its own and a Frappe site, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from job_engine.core.errors import JobEngineError

if TYPE_CHECKING:
    from job_engine.doctor import Finding
    from job_engine.engine import Engine


class NoTables(JobEngineError):
    """The database has no Job Engine tables yet."""


@dataclass(frozen=True, slots=True)
class WorkOrders:
    """What `work` was asked for."""

    processes: int
    queues: tuple[str, ...] | None  # None: all
    poll_seconds: float
    log_format: str
    log_level: str


class Home(Protocol):
    """Put one into click's `ctx.obj` before a verb runs; the verbs need nothing else."""

    debug: bool  # show tracebacks

    def engine(self, create: bool = False) -> Engine:
        """The engine, its database reachable and its tables there. Only `create` makes them where they are missing."""

    def unopened_engine(self) -> Engine:
        """The same engine before anything was asked of its database."""

    def load_types(self) -> None:
        """Register the application's job types, or raise JobEngineError. Verbs that need none do not call this."""

    def application(self) -> str | None:
        """What `load_types` loads, for messages; None where nothing was named."""

    def address(self) -> str:
        """The database, for messages, without secrets."""

    def actor(self) -> str:
        """Who gives these commands, for the history."""

    def work(self, orders: WorkOrders) -> None:
        """Be the workers, until told to stop."""

    def examine(self) -> Iterator[Finding]:
        """What `doctor` finds, one by one. A database that cannot be reached is a finding like any other."""

    def close(self) -> None:
        """Close what was opened."""
