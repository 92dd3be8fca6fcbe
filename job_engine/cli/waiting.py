"""Long-running verbs wait for a database that is not there, and say so."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from job_engine.core.errors import StoreUnavailable

log = logging.getLogger("job_engine.cli")

LONGEST_PAUSE = 5.0

Answer = TypeVar("Answer")


def when_available(ask: Callable[[], Answer], sleep: Callable[[float], None] = time.sleep) -> Answer:
    """What `ask` returns, as soon as the database lets it."""
    for pause in pauses():
        try:
            return ask()
        except StoreUnavailable as error:
            say_away(error, pause)
            sleep(pause)
    raise AssertionError("pauses() never ends")


def pauses() -> Iterator[float]:
    """Seconds between tries: soon at first, since most outages are restarts."""
    pause = 0.2
    while True:
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE)


def say_away(error: StoreUnavailable, pause: float) -> None:
    log.warning("%s Trying again in %.1f s.", error, pause, extra={"action": "store_away"})
