"""Is everything as it should be? A number of checks, each with what it found and what to do about it.

Each check is a small function that judges what it is given; `examine` asks the database and puts them in order. Nothing here
changes anything, and a database that cannot be reached or has no tables is a finding like any other.
"""

from __future__ import annotations

from job_engine.doctor.examine import examine
from job_engine.doctor.finding import Finding, Level

__all__ = ["Finding", "Level", "examine"]
