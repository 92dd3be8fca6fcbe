"""The tick: what must happen now and then, whoever is busy."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from job_engine.engine import Engine

log = logging.getLogger("job_engine.dispatcher")


@dataclass(frozen=True, slots=True)
class Tick:
    promoted: int
    rescued: int

    @property
    def moved(self) -> int:
        return self.promoted + self.rescued


def tick(engine: Engine) -> Tick:
    """Queue what is due and take back what lost its worker. Any number may run at once."""
    done = Tick(promoted=engine.store.promote(), rescued=engine.store.rescue())
    if done.rescued:
        log.warning("Rescued %s jobs whose workers were lost", done.rescued, extra={"action": "rescued"})
    return done


def housekeeping(engine: Engine) -> int:
    """Forget what is older than the retention and compact the counters. Once an hour is plenty."""
    pruned = engine.prune()
    engine.store.compact_stats()
    return pruned
