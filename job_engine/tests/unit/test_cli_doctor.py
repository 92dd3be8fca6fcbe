"""Each of doctor's checks by itself: what it is given, and how it judges."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from job_engine.doctor import Finding, Level, database, jobs
from job_engine.store import schema
from job_engine.store.controls import Pause
from job_engine.store.workers import Worker
from job_engine.tests.clock import START

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/export /srv nfs4 rw 0 0
/dev/sdb1 /srv/local xfs rw 0 0
//host/share /mnt/my\\040share cifs rw 0 0
tmpfs /srv/over tmpfs rw 0 0
server:/other /srv/over nfs rw 0 0
"""

COMMAND = "bench --site shop.example.com job-engine"


def judged(finding: Finding) -> Level:
    """Whatever is not well comes with advice, and only that."""
    assert (finding.advice is None) == (finding.level is Level.OK)
    return finding.level


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/jobs.db", "ext4"),
        ("/srv/jobs.db", "nfs4"),
        ("/srv/local/jobs.db", "xfs"),
        ("/srvother/jobs.db", "ext4"),
        ("/mnt/my share/jobs.db", "cifs"),
        ("/srv/over/jobs.db", "nfs"),
    ],
)
def test_the_filesystem_is_that_of_the_nearest_mount(path: str, kind: str) -> None:
    assert database.filesystem_of(Path(path), MOUNTS) == kind


def test_sqlite_on_a_network_filesystem_is_a_problem() -> None:
    assert judged(database.check_filesystem("nfs4")) is Level.PROBLEM
    assert judged(database.check_filesystem("ext4")) is Level.OK
    assert judged(database.check_filesystem(database.filesystem_of(Path("/x"), ""))) is Level.OK


@pytest.mark.parametrize(
    ("journal", "synchronous", "level"),
    [("wal", 2, Level.OK), ("WAL", 3, Level.OK), ("wal", 1, Level.PROBLEM), ("delete", 2, Level.PROBLEM)],
)
def test_only_wal_with_full_synchronisation_survives_a_power_cut(journal: str, synchronous: int, level: Level) -> None:
    assert judged(database.check_durability(journal, synchronous)) is level


@pytest.mark.parametrize(
    ("version", "level"),
    [
        (str(schema.VERSION), Level.OK),
        (str(schema.VERSION + 1), Level.PROBLEM),
        (str(schema.VERSION - 1), Level.PROBLEM),
        (None, Level.PROBLEM),
    ],
)
def test_tables_must_be_of_this_version(version: str | None, level: Level) -> None:
    assert judged(database.check_schema(version)) is level


def test_a_newer_schema_asks_for_a_newer_engine_and_an_older_one_for_init() -> None:
    assert "Upgrade" in (database.check_schema(str(schema.VERSION + 1)).advice or "")
    assert "init" in (database.check_schema(str(schema.VERSION - 1)).advice or "")


@pytest.mark.parametrize(("seconds", "words"), [(-600, "ahead of"), (600, "behind")])
def test_a_clock_that_differs_is_a_warning(seconds: float, words: str) -> None:
    finding = database.check_clock(START + timedelta(seconds=seconds), START)
    assert judged(finding) is Level.WARNING
    assert f"600 s {words} the database" in finding.says
    assert judged(database.check_clock(START + timedelta(seconds=1), START)) is Level.OK


def test_no_worker_is_a_problem_only_when_jobs_are_queued() -> None:
    workers = [Worker(f"w{i}", f"host{i % 2}", i, None, START, START) for i in range(3)]
    assert judged(jobs.check_workers([], 0)) is Level.WARNING
    assert judged(jobs.check_workers([], 5)) is Level.PROBLEM
    assert judged(jobs.check_workers(workers, 5)) is Level.OK
    assert "3 alive on 2 machines" in jobs.check_workers(workers, 5).says


def test_a_long_wait_is_a_warning_that_names_the_job() -> None:
    late = jobs.check_oldest(("01kxyz", START - timedelta(seconds=301)), START, COMMAND)
    assert judged(late) is Level.WARNING
    assert f"`{COMMAND} explain 01kxyz`" in (late.advice or "")
    assert judged(jobs.check_oldest(("01kxyz", START - timedelta(seconds=299)), START, COMMAND)) is Level.OK
    assert judged(jobs.check_oldest(None, START, COMMAND)) is Level.OK


def test_expired_leases_are_a_warning() -> None:
    assert judged(jobs.check_leases(0, None, START, COMMAND)) is Level.OK
    finding = jobs.check_leases(2, START - timedelta(seconds=90), START, COMMAND)
    assert judged(finding) is Level.WARNING
    assert "2 running jobs" in finding.says
    assert "90 s ago" in finding.says


def test_jobs_of_unregistered_types_are_a_problem_where_types_are_known() -> None:
    assert judged(jobs.check_types([("old_name", 3)], any_registered=True)) is Level.PROBLEM
    assert "old_name (3)" in jobs.check_types([("old_name", 3)], any_registered=True).says
    assert judged(jobs.check_types([], any_registered=True)) is Level.OK
    assert judged(jobs.check_types([("old_name", 3)], any_registered=False)) is Level.OK


def test_dead_letters_and_pauses_are_warnings() -> None:
    assert judged(jobs.check_dead_letters(0, COMMAND)) is Level.OK
    assert judged(jobs.check_dead_letters(1, COMMAND)) is Level.WARNING
    assert judged(jobs.check_pauses([], COMMAND)) is Level.OK
    finding = jobs.check_pauses(
        [Pause("type", "pdf", START, "ops", "password=hunter2"), Pause("everything", "", START, None, None)], COMMAND
    )
    assert judged(finding) is Level.WARNING
    assert "type pdf by ops since 2026-01-01 12:00 UTC" in finding.says
    assert "everything since" in finding.says
    assert "hunter2" not in finding.says
