"""`python -m job_engine.demo`."""

from __future__ import annotations

import sys

from job_engine.demo import main

if __name__ == "__main__":
    sys.exit(main())
