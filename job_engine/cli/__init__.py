"""The command line of both homes: `job-engine VERB` here, `bench --site S job-engine VERB` in a Frappe site.

The verbs (`verbs/`, one file each) know nothing of where they run. They get their engine from a Home (`home.py`); a group of the
class VerbGroup (`group.py`) carries them, turns errors into sentences and exit codes, and can be attached to any click program.
"""

from __future__ import annotations


def main() -> None:
    from job_engine.cli.program import program

    program(prog_name="job-engine")
