"""`python -m job_engine.tests.acceptance.work`: a supervisor with its workers, its orders in the environment."""

from __future__ import annotations

import json
import os

from job_engine import Engine
from job_engine.loading import load_app
from job_engine.logs import configure
from job_engine.supervisor import Supervisor

APP = "job_engine.tests.acceptance.handlers"
ORDERS = "JOB_ENGINE_ACCEPTANCE_ORDERS"


def main() -> None:
    orders = json.loads(os.environ[ORDERS])
    configure("json")
    load_app(APP)
    with Engine.open(orders["url"], **orders["settings"]) as engine:
        Supervisor(engine, orders["url"], APP, orders["processes"], log_format="json").run()


if __name__ == "__main__":
    main()
