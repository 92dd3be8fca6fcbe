"""The tick: what must happen now and then, whoever is busy."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from job_engine.engine import Engine

log = logging.getLogger("job_engine.dispatcher")


@dataclass(frozen=True, slots=True)
class Tick:
    promoted: int
    rescued: int


def tick(engine: Engine) -> Tick:
    """Queue what is due and take back what lost its worker. Any number may run at once."""
    done = Tick(promoted=engine.store.promote(), rescued=engine.store.rescue())
    if done.rescued:
        log.warning("Rescued %s jobs whose workers were lost", done.rescued, extra={"action": "rescued"})
    return done


def housekeeping(engine: Engine) -> int:
    """Forget what is older than the retention and compact the counters."""
    pruned = engine.prune()
    engine.store.compact_stats()
    return pruned


class Housekeeper:
    """Keeps house once an hour, in a thread of its own: nobody waits for it."""

    FIRST_SECONDS, EVERY_SECONDS = 60.0, 3600.0

    def __init__(self, engine: Engine):
        self._engine = engine
        self._next = time.monotonic() + self.FIRST_SECONDS

    def run_if_due(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self.EVERY_SECONDS
            threading.Thread(target=self._run, name="job-engine-housekeeping", daemon=True).start()

    def _run(self) -> None:
        try:
            housekeeping(self._engine)
        except Exception:
            log.exception("Housekeeping failed; it is tried again in an hour", extra={"action": "housekeeping_failed"})
        finally:
            self._engine.store.close()
