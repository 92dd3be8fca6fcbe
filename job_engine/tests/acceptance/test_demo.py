"""`make demo`: run as a newcomer runs it, and its verdict shown what must not happen."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import job_engine.demo.handlers  # noqa: F401 - registers the types of the demo's jobs
from job_engine import Engine, Status
from job_engine.demo import command, database, effects, main, scenario
from job_engine.demo.pool import parent_of
from job_engine.demo.scenario import CANCELED, KILLED, Planned
from job_engine.demo.verdict import Facts, JobFact, Verdict, judge
from job_engine.store.dialect import TABLES
from job_engine.store.workers import Worker

ROOT = Path(__file__).parents[3]
LIMIT_SECONDS = 120.0

# A shell that runs its tests in the background lets them ignore SIGINT, and they would hand that on.
DEMO = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from job_engine.demo import main
sys.exit(main(sys.argv[1:]))
"""


def environment() -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    return {**plain, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


# A whole run ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finished:
    """A demo that ran to its end without a terminal."""

    code: int
    out: str
    error: str
    database: Path

    def ask(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(question, values).fetchall()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "job_engine.demo"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    return Finished(done.returncode, done.stdout, done.stderr, folder / "job-engine-demo.db")


@pytest.mark.slow
def test_the_demo_ends_well_and_says_so(finished: Finished) -> None:
    assert finished.code == 0, finished.out + finished.error
    assert f"{len(scenario.plan())} jobs in " in finished.out
    assert "every count is as expected" in finished.out
    assert "Try next" in finished.out
    assert "\x1b" not in finished.out, "bars and colors are for terminals"


@pytest.mark.slow
def test_the_database_agrees_with_the_summary(finished: Finished) -> None:
    planned = Counter(str(one.status) for one in scenario.plan())
    assert dict(finished.ask(f"SELECT status, COUNT(*) FROM {TABLES['job']} GROUP BY status")) == planned
    done = finished.ask(f"SELECT COUNT(*), COUNT(DISTINCT job) FROM {effects.MARK}")
    assert done == [(planned["Completed"], planned["Completed"])]


@pytest.mark.slow
def test_it_shows_a_worker_killed_and_its_job_rescued(finished: Finished) -> None:
    killed = re.search(r"kill -9 of worker (\d+)", finished.out)
    assert killed is not None, finished.out
    assert f"{KILLED}: rescued" in finished.out
    lost = finished.ask(f"SELECT job_type, status, attempts FROM {TABLES['job']} WHERE lost > 0")
    assert lost == [("nightly_import", "Completed", 2)]
    owners = finished.ask(f"SELECT worker FROM {TABLES['log']} WHERE worker IS NOT NULL AND attempt = 1")
    assert any(f":{killed[1]}:" in worker for (worker,) in owners), "that process was no worker"


@pytest.mark.slow
def test_no_worker_is_left_behind(finished: Finished) -> None:
    pids = started_workers(finished.out)
    assert len(pids) == 3, "two workers, and one in the place of the killed one"
    assert [pid for pid in pids if parent_of(pid) is not None] == []
    assert finished.ask(f"SELECT COUNT(*) FROM {TABLES['worker']}") == [(0,)]


@pytest.mark.slow
def test_what_the_partner_broke_completes_when_it_is_retried_as_the_demo_suggests(finished: Finished) -> None:
    suggested = re.search(r"job-engine retry (\w+)", finished.out)
    assert suggested is not None
    with Engine.open(f"sqlite:///{finished.database}") as engine:
        assert engine.get(suggested[1]).status is Status.DEAD_LETTER
        engine.retry(suggested[1])
        engine.run_once()
        assert engine.get(suggested[1]).status is Status.COMPLETED


def started_workers(out: str) -> list[int]:
    return [int(pid) for pid in re.findall(r"worker (\d+) has started", out)]


# Ends before its time ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ctrl_c_stops_the_workers(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-c", DEMO], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert demo.stdout is not None
    said = ""
    for line in demo.stdout:
        said += line
        if len(started_workers(said)) == 2:
            break
    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate(timeout=LIMIT_SECONDS)
    assert demo.returncode == 130, said + rest
    assert "Interrupted" in rest
    pids = started_workers(said)
    assert len(pids) == 2
    assert [pid for pid in pids if parent_of(pid) is not None] == []


def test_it_fails_when_jobs_have_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "LIMIT_SECONDS", 0.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["--file", str(tmp_path / "demo.db")]) == 1
    said = capfd.readouterr()
    assert "jobs in a state they should not be in" in said.out
    assert "did not go as it must" in said.err


def test_a_file_that_is_not_a_demos_is_left_as_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    precious = tmp_path / "shop.db"
    with Engine.open(f"sqlite:///{precious}"):
        pass
    before = precious.read_bytes()
    assert main(["--file", str(precious)]) == 1
    assert "was not made by this demo" in capfd.readouterr().err
    assert precious.read_bytes() == before


def test_a_database_that_a_worker_still_uses_is_left_as_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "demo.db"
    with Engine.open(database.make_anew(path)) as engine:
        now = engine.store.now()
        engine.store.sign_in(Worker("another", "here", os.getpid(), None, now, now))
        job = engine.enqueue("partner_sync")
        assert main(["--file", str(path)]) == 1
        assert f"process {os.getpid()}" in capfd.readouterr().err
        assert engine.get(job.name) == job


def test_what_an_interrupted_demo_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "demo.db"
    database.make_anew(path)
    with Engine.open(database.make_anew(path)) as engine:
        assert engine.count() == 0


# The verdict ---------------------------------------------------------------------------------------------------------

DUPLICATES = 2
ROLL = {f"job-{n}": planned for n, planned in enumerate(scenario.plan())}


def first(fits: Callable[[Planned], bool]) -> str:
    """The name of the first job in the plan that fits."""
    return next(name for name, planned in ROLL.items() if fits(planned))


ORDINARY = first(lambda p: p.job_type == "thumbnail")
RETRIED = first(lambda p: p.attempts > 1 and not p.lost)
RESCUED = first(lambda p: p.lost > 0)
STOPPED = first(lambda p: p.label == CANCELED)
PERMANENT = first(lambda p: (p.status, p.attempts) == (Status.DEAD_LETTER, 1))
DEPENDENT = first(lambda p: p.after is not None and p.status is Status.COMPLETED)
ROW = ("north", 0)


def as_planned() -> Facts:
    """What is found when everything went well: each job claimed, and completed, one after the other."""
    line: Iterator[int] = iter(range(1, 10 * len(ROLL)))
    jobs = {}
    for name, planned in ROLL.items():
        done = planned.status is Status.COMPLETED
        jobs[name] = JobFact(
            planned.status,
            planned.attempts,
            planned.lost,
            effects=int(done),
            completions=int(done),
            claimed_at=next(line) if planned.attempts else None,
            completed_at=next(line) if done else None,
        )
    rows = {(p.organization, n): 1 for p in ROLL.values() for n in range(p.rows)}
    return Facts(jobs, stray_effects=0, imported=rows, refused=DUPLICATES)


def changed(name: str, **changes: Any) -> Facts:
    facts = as_planned()
    return dataclasses.replace(facts, jobs={**facts.jobs, name: dataclasses.replace(facts.jobs[name], **changes)})


def without(name: str) -> Facts:
    facts = as_planned()
    return dataclasses.replace(facts, jobs={n: fact for n, fact in facts.jobs.items() if n != name})


def with_row(times: int, row: tuple[str, int] = ROW) -> Facts:
    facts = as_planned()
    return dataclasses.replace(facts, imported={**facts.imported, row: times})


def wrong_counts(verdict: Verdict) -> set[str]:
    of_types = (c for one in verdict.types for c in (one.jobs, *one.by_status.values(), one.attempts))
    return {count.what for count in (*of_types, *verdict.checks) if not count.ok}


def test_a_run_as_planned_passes() -> None:
    verdict = judge(ROLL, DUPLICATES, as_planned())
    assert verdict.ok
    assert wrong_counts(verdict) == set()


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        pytest.param(without(ORDINARY), "jobs lost", id="a lost job"),
        pytest.param(changed(ORDINARY, completions=2), "jobs completed twice", id="a double completion"),
        pytest.param(changed(ORDINARY, effects=2), "jobs completed twice", id="an effect twice"),
        pytest.param(changed(ORDINARY, status=Status.RUNNING), "jobs in a state", id="a job that has not ended"),
        pytest.param(changed(ORDINARY, status=Status.DEAD_LETTER), "jobs in a state", id="dead instead of done"),
        pytest.param(changed(STOPPED, status=Status.COMPLETED), "jobs in a state", id="done instead of canceled"),
        pytest.param(changed(ORDINARY, effects=0), "effects", id="done without an effect"),
        pytest.param(changed(STOPPED, effects=1), "effects", id="canceled, with an effect"),
        pytest.param(dataclasses.replace(as_planned(), stray_effects=1), "effects", id="an effect of no job"),
        pytest.param(changed(ORDINARY, attempts=2), "attempts", id="an attempt too many"),
        pytest.param(changed(RETRIED, attempts=1), "jobs retried", id="no retry"),
        pytest.param(changed(RESCUED, lost=0), "jobs rescued", id="no rescue"),
        pytest.param(changed(PERMANENT, attempts=3), "permanent errors", id="a permanent error retried"),
        pytest.param(changed(DEPENDENT, claimed_at=0), "dependents", id="a dependent before its parent"),
        pytest.param(dataclasses.replace(as_planned(), refused=1), "duplicates", id="a duplicate accepted"),
        pytest.param(with_row(2), "rows imported", id="a row twice"),
        pytest.param(with_row(0), "rows imported", id="a row missing"),
        pytest.param(with_row(1, ("east", 0)), "rows imported", id="a row of nobody"),
    ],
)
def test_the_verdict_sees(facts: Facts, wrong: str) -> None:
    verdict = judge(ROLL, DUPLICATES, facts)
    assert not verdict.ok
    assert any(what.startswith(wrong) for what in wrong_counts(verdict)), wrong_counts(verdict)


def test_the_verdict_sees_a_job_that_nobody_enqueued() -> None:
    facts = as_planned()
    stranger = JobFact(Status.COMPLETED, 1, 0)
    verdict = judge(ROLL, DUPLICATES, dataclasses.replace(facts, jobs={**facts.jobs, "stranger": stranger}))
    assert wrong_counts(verdict) == {"jobs in a state they should not be in"}


def test_two_wrongs_make_no_right() -> None:
    """One retry missing and one too many: the count is right, and the verdict is not."""
    facts = changed(RETRIED, attempts=1)
    facts = dataclasses.replace(
        facts, jobs={**facts.jobs, ORDINARY: dataclasses.replace(facts.jobs[ORDINARY], attempts=2)}
    )
    verdict = judge(ROLL, DUPLICATES, facts)
    retried = next(count for count in verdict.checks if count.what.startswith("jobs retried"))
    assert retried.expected == retried.found
    assert not verdict.ok
