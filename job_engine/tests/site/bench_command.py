"""`bench --site S job-engine VERB` as a process, without the second that bench itself takes to find the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

SECONDS = 60


def command(*words: str, site: str | None = None) -> list[str]:
    chosen = site or os.environ["JOB_ENGINE_SITE"]
    return [sys.executable, "-m", "frappe.utils.bench_helper", "frappe", "--site", chosen, "job-engine", *words]


def bench(*words: str, site: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words, site=site), capture_output=True, text=True, timeout=SECONDS)


def answer(*words: str) -> Any:
    """The JSON that a verb prints."""
    done = bench(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
