"""Fixtures of the acceptance tests: an engine to watch with, and a fleet of real worker processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import job_engine.tests.acceptance.handlers  # noqa: F401 - registers the types that tests enqueue
from job_engine import Engine
from job_engine.tests.acceptance import effects
from job_engine.tests.acceptance.fleet import Fleet
from job_engine.tests.acceptance.folder import Folder

# Short, so that a lease expires and a grace period ends while a test waits for it.
SETTINGS: dict[str, Any] = {
    "lease_seconds": 3.0,
    "heartbeat_seconds": 0.5,
    "grace_seconds": 1.0,
    "tick_seconds": 0.2,
    "cancel_check_seconds": 0.3,
}

collect_ignore_glob = [] if sys.platform == "linux" else ["test_*.py"]  # processes are watched through /proc


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with Engine.open(database_url, **SETTINGS) as engine:
        effects.create_table(engine)
        yield engine


@pytest.fixture
def fleet(engine: Engine, database_url: str, folder: Folder) -> Iterator[Fleet]:
    fleet = Fleet(database_url, folder, SETTINGS)
    yield fleet
    fleet.close()
