"""The demo's workers: what `job-engine work --processes N` runs, with settings that suit a short show.

`python -m job_engine.demo.workers URL N`. Standard input is a lifeline: when it ends, the demo is gone, and so go they.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

from job_engine.engine import Engine
from job_engine.loading import load_app
from job_engine.logs import configure
from job_engine.supervisor import Supervisor

APP = "job_engine.demo.handlers"
# A dead worker's jobs are taken back as soon as its supervisor sees it dead; the lease is for a supervisor that died too.
SETTINGS: dict[str, Any] = {"lease_seconds": 15.0, "heartbeat_seconds": 3.0, "grace_seconds": 2.0, "tick_seconds": 0.5}


def main() -> None:
    url, processes = sys.argv[1:]
    configure()
    load_app(APP)
    threading.Thread(target=_hold_lifeline, name="job-engine-lifeline", daemon=True).start()
    Supervisor(Engine.open(url, **SETTINGS), url, APP, int(processes)).run()


def _hold_lifeline() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
