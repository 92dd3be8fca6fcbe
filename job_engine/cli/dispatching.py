"""The loop of `dispatch`: tick, wait, and never give up on the database."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from job_engine.cli.waiting import pauses, say_away
from job_engine.core.errors import StoreUnavailable
from job_engine.dispatcher import housekeeping

if TYPE_CHECKING:
    from job_engine.engine import Engine

log = logging.getLogger("job_engine.dispatcher")

HOUSEKEEPING_SECONDS = 3600.0
SHORTEST_PAUSE = 0.01


def dispatch(engine_of: Callable[[], Engine], every: float, stopping: threading.Event) -> None:
    """`engine_of` opens the engine when it is called first; that too can need more than one try."""
    log.info("Dispatcher started; it ticks every %g s", every, extra={"action": "dispatcher_started"})
    outage = pauses()
    next_housekeeping = time.monotonic() + 60.0
    while not stopping.is_set():
        pause = every
        try:
            engine = engine_of()
            _tick(engine)
            pause = _until_next(engine, every)
            outage = pauses()
            if time.monotonic() >= next_housekeeping:
                next_housekeeping = time.monotonic() + HOUSEKEEPING_SECONDS
                threading.Thread(target=_keep_house, args=(engine,), daemon=True).start()
        except StoreUnavailable as error:
            pause = next(outage)
            say_away(error, pause)
        stopping.wait(pause)
    log.info("Dispatcher stopped", extra={"action": "dispatcher_stopped"})


def _tick(engine: Engine) -> None:
    done = engine.tick()
    if done.promoted:
        log.info("Queued %s jobs that are due", done.promoted, extra={"action": "promoted"})


def _until_next(engine: Engine, every: float) -> float:
    """A job that is due before the next tick is queued when it is due."""
    due = engine.store.next_due()
    return every if due is None else min(every, max(SHORTEST_PAUSE, (due - engine.store.now()).total_seconds()))


def _keep_house(engine: Engine) -> None:
    """In a thread: to forget a million jobs takes its time, and the tick must go on."""
    try:
        housekeeping(engine)
    except Exception:
        log.exception("Housekeeping failed; it is tried again in an hour", extra={"action": "housekeeping_failed"})
    finally:
        engine.store.close()
