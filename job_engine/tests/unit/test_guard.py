"""The guard beside a runner: whom it kills, and what it has settled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from job_engine.beacon import LAYOUT_FOR_GUARDS, Beacon
from job_engine.core.errors import JobTimeout
from job_engine.guard import Guard, process

TOLD = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"

DIES_WHILE_A_FORK_LIVES = """
import os, sys, time
from job_engine.guard import Guard
guard = Guard(1.0, [sys.executable, "-c", {told!r}, {file!r}], {{"worker": "one"}}).__enter__()
guard.start()
guard.beacon.show("job", 3, None)
print(os.getpid(), flush=True)
if os.fork() == 0:
    os.close(1)
    for _ in range(300):  # as what a handler has started with multiprocessing
        if os.path.exists({file!r}):
            break
        time.sleep(0.1)
    os._exit(0)
os._exit(1)
"""


def test_a_dead_runner_is_settled_though_a_fork_of_it_lives(tmp_path: Path) -> None:
    """The fork holds the guard's line open; and its parent's number may soon be somebody else's."""
    file = tmp_path / "told"
    code = DIES_WHILE_A_FORK_LIVES.format(told=TOLD, file=str(file))
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False, timeout=20)
    until = time.monotonic() + 10
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < until, "nothing was settled"
        time.sleep(0.02)
    details, job, attempt, why = file.read_text().split("\n")[:4]
    assert (json.loads(details), job, attempt, why) == ({"worker": "one"}, "job", "3", "")


def test_a_guard_is_started_once_and_only_if_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    spawn = os.posix_spawn
    monkeypatch.setattr(os, "posix_spawn", lambda *args, **options: started.append(spawn(*args, **options)))
    with Guard(1.0, ["true"], {}) as guard:
        guard.beacon.show("job", 1, None)
    assert not started
    with Guard(1.0, ["true"], {}) as guard:
        guard.start()
        guard.start()
    assert len(started) == 1
    os.waitpid(started[0], 0)  # it leaves when its worker has said farewell


def test_nobody_is_blamed_who_began_after_the_verdict(tmp_path: Path) -> None:
    with Beacon.memory() as descriptor:
        beacon = Beacon(descriptor)
        settle = [sys.executable, "-c", TOLD]
        guard = process.Guard("1", str(descriptor), "1", *LAYOUT_FOR_GUARDS, *settle, str(tmp_path / "next"))
        beacon.show("guilty", 1, None)
        beacon.condemn("guilty", 1, JobTimeout(), time.monotonic() - 10)
        seen = guard.look()
        assert guard.verdict(seen, time.monotonic()) == "JobTimeout"
        guard.killed_for = seen[:2]
        beacon.show("innocent", 1, None)
        guard.hand_over(b"{}\n", "JobTimeout")
        assert (tmp_path / "next").read_text() == "{}\n\n0\n\n"
        beacon.show("guilty", 1, None)
        guard.hand_over(b"{}\n", "JobTimeout")
        assert (tmp_path / "next").read_text() == "{}\nguilty\n1\nJobTimeout\n"
