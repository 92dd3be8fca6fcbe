"""A worker process under a supervisor: `python -m job_engine.child`, its orders on standard input.

Orders come by a pipe, not by arguments, because the database's URL may contain a password. The pipe stays open as a lifeline:
when it ends, the supervisor is gone, and the worker finishes what it has and stops.
"""

from __future__ import annotations

import faulthandler
import json
import select
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from job_engine.beacon import Beacon
from job_engine.engine import Engine
from job_engine.loading import load_app
from job_engine.logs import configure
from job_engine.worker import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a worker process is told in every home."""

    worker_id: str
    beacon: int  # an open file descriptor
    queues: list[str] | None  # None: all
    poll_seconds: float
    log_format: str
    log_level: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


AnyOrders = TypeVar("AnyOrders", bound=Orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandaloneOrders(Orders):
    url: str
    app: str | None
    settings: dict[str, Any]


def receive(kind: type[AnyOrders]) -> AnyOrders | None:
    """The orders of this process, whose logs are written as they say. None: the supervisor is gone already."""
    line = sys.stdin.readline()
    if not line:
        return None
    orders = kind(**json.loads(line))
    configure(orders.log_format, orders.log_level)
    return orders


def main() -> None:
    orders = receive(StandaloneOrders)
    if orders is None:
        return
    load_app(orders.app)
    engine = Engine.open(orders.url, **orders.settings)
    queues = None if orders.queues is None else tuple(orders.queues)
    worker = Worker(engine, orders.worker_id, queues, Beacon(orders.beacon))
    hold_lifeline(worker)
    worker.run(orders.poll_seconds, engine.settings.batch_jobs)


def hold_lifeline(worker: Worker) -> None:
    """Stop when the supervisor is gone; end the process when its threads do not run any more."""
    settings = worker.engine.settings
    patience = settings.lease_seconds + settings.grace_seconds
    faulthandler.dump_traceback_later(patience, exit=True)
    threading.Thread(target=_hold_lifeline, args=(worker, patience), name="job-engine-lifeline", daemon=True).start()


def _hold_lifeline(worker: Worker, patience: float) -> None:
    """Wait for the supervisor's end, and meanwhile show that this process's threads still run.

    A handler that keeps the interpreter's lock stops every thread. A supervisor kills such a worker; an orphan has nobody to
    do that, so a timer outside the interpreter ends the process when this loop cannot set it anew.
    """
    while True:
        faulthandler.dump_traceback_later(patience, exit=True)
        if select.select([sys.stdin], [], [], patience / 4)[0]:
            break
    sys.stdin.read()
    worker.leave_supervision()
    while True:
        faulthandler.dump_traceback_later(patience, exit=True)
        time.sleep(patience / 4)


if __name__ == "__main__":
    main()
