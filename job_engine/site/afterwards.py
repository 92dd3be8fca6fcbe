"""What follows the commit of finished attempts: those who watch are told, and the apps that listen. None of it can undo it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from job_engine.core.job import Outcome
from job_engine.core.states import ENDED, Status
from job_engine.site.events import Listeners
from job_engine.site.realtime import Publisher
from job_engine.site.store import SiteStore

log = logging.getLogger("job_engine.afterwards")


class Afterwards:
    def __init__(self, store: SiteStore):
        self._store = store
        self.publisher = Publisher(store)
        self.listeners = Listeners()

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        """Never raises: to the group it would look like a commit that failed."""
        try:
            outcomes = self._as_written(outcomes)
            self.publisher.ended(outcomes)
            self.listeners.note(outcomes, self._store.now)
        except Exception:
            log.exception("Who watches could not be told what became of jobs", extra={"action": "telling_failed"})

    def finish(self) -> None:
        """Nothing more comes for a while: say what was held back."""
        try:
            self.publisher.flush()
            self.listeners.tell()
        except Exception:
            log.exception("Who watches could not be told what became of jobs", extra={"action": "telling_failed"})

    def _as_written(self, outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
        """What was to run again may have been written as canceled, or as its last attempt: the database decides that."""
        again = [o.name for o in outcomes if o.status not in ENDED]
        if not again:
            return outcomes
        with self._store.session() as session:
            those, names = session.dialect.among("name", again)
            found = {
                (name, attempt): Status(status)
                for name, attempt, status in session.rows(
                    f"SELECT name, attempts, status FROM {{job}} WHERE {those}", names
                )
            }
        final = {key: status for key, status in found.items() if status in ENDED}
        return [
            o.evolve(status=final[o.name, o.attempt], give_back=False) if (o.name, o.attempt) in final else o
            for o in outcomes
        ]
