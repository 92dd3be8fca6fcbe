"""Commits finished attempts in a thread of its own, so that the database works while Python claims and runs the next batch."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor

from job_engine.core.job import Outcome
from job_engine.store.sql import SqlStore

log = logging.getLogger("job_engine.group")


class Courier:
    """At most one group is on its way. Not for handlers' own writes: those are in another connection's transaction."""

    def __init__(self, store: SqlStore, worker_id: str):
        self._store = store
        self._worker_id = worker_id
        self._thread: ThreadPoolExecutor | None = None
        self._group: tuple[list[Outcome], Future[set[str]]] | None = None
        self.has_failed = False  # the group on its way: a plain attribute, since the runner looks after every job

    @property
    def is_away(self) -> bool:
        """A group was handed over, and nobody has asked yet what became of it."""
        return self._group is not None

    @property
    def has_arrived(self) -> bool:
        return self._group is None or self._group[1].done()

    def take(self, outcomes: list[Outcome]) -> None:
        assert self._group is None, "one at a time"
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "job-engine-courier")
        self.has_failed = False
        self._group = outcomes, self._thread.submit(self._deliver, outcomes)

    def _deliver(self, outcomes: list[Outcome]) -> set[str]:
        try:
            return self._store.finish(self._worker_id, outcomes)
        except BaseException:
            self.has_failed = True
            raise

    def arrive(self) -> list[Outcome]:
        """Wait for the group that is on its way. Returns what could not be written."""
        if self._group is None:
            return []
        outcomes, future = self._group
        try:
            tell_lost(future.result())
            returned: list[Outcome] = []
        except Exception as error:
            log.warning("A group of finished jobs could not be written and is tried again: %s", error)
            returned = outcomes
        self.has_failed = False
        self._group = None  # not before: an interruption of the wait must not forget it
        return returned

    def close(self) -> None:
        if self._thread is not None:
            self._thread.submit(self._store.close)
            self._thread.shutdown()


def tell_lost(names: set[str]) -> None:
    for name in names:
        log.warning("Job %s was no longer this worker's; its outcome was not recorded", name, extra={"job": name})
