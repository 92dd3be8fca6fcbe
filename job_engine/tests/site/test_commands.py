"""`bench --site S job-engine VERB`, as processes of their own: what they do is committed, and seen here."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import frappe
import pytest

from job_engine.core.states import Status
from job_engine.doctor.finding import Level
from job_engine.site import engine
from job_engine.site.doctor import check_apps
from job_engine.tests.site.bench_command import answer, bench, command
from job_engine.tests.site.bench_workers import wait_until
from job_engine.tests.site.running import QUEUE

LIMIT_SECONDS = 20.0


@pytest.fixture
def process() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a verb that runs until it is told to stop."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        started.append(subprocess.Popen(command(*words), stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()


def stopped(process: subprocess.Popen[str]) -> tuple[int, float]:
    """The exit code after SIGTERM, and how long it took."""
    process.send_signal(signal.SIGTERM)
    begin = time.monotonic()
    return process.wait(LIMIT_SECONDS), time.monotonic() - begin


# One job from its beginning to its end ----------------------------------------------------------------------------------------


def test_a_job_is_made_looked_at_canceled_and_retried(here):
    options = ("--organization", here.organization, "--queue", QUEUE, "--run-after", "1h")
    made = answer("enqueue", "test.effect", '{"value": "from the shell"}', *options)
    name = made["job"]["name"]

    assert made["created"]
    assert here.get(name).status is Status.PENDING
    listed = answer("list", "--organization", here.organization)
    assert [job["name"] for job in listed["jobs"]] == [name]
    assert "from the shell" in bench("show", name).stdout
    assert bench("explain", name).stdout.startswith("Not due yet")

    answer("cancel", name)
    assert here.get(name).status is Status.CANCELED
    answer("retry", name)
    assert here.get(name).status is Status.QUEUED
    actors = [str(entry["actor"]) for entry in answer("history", name)["history"]]
    assert sum(actor.endswith("(bench)") for actor in actors) == 2, "cancel and retry say who did it"


def test_many_jobs_come_from_a_file(here, tmp_path):
    lines = tmp_path / "jobs.jsonl"
    lines.write_text("".join(json.dumps({"i": i}) + "\n" for i in range(5)))

    made = answer(
        "enqueue", "test.noop", "--from-file", str(lines), "--organization", here.organization, "--queue", QUEUE
    )

    assert made["created"] == 5
    assert here.run() == 5


# Operating ------------------------------------------------------------------------------------------------------------------


def test_a_paused_type_is_not_claimed_until_it_is_resumed(here):
    job = here.enqueue("test.snooze")
    frappe.db.commit()
    try:
        assert answer("pause", "type", "test.snooze", "--reason", "a test")["paused"]
        assert here.run() == 0
        assert "a test" in engine().explain(job.name)
    finally:
        answer("resume", "type", "test.snooze")
    assert here.run() == 1


def test_doctor_looks_at_what_only_a_bench_has():
    findings = {found["check"]: found for found in json.loads(bench("doctor", "--json").stdout)["findings"]}

    assert {"database", "tables", "application", "scheduler", "redis", "workers", "leases", "pauses"} <= set(findings)
    assert findings["tables"]["level"] == findings["redis"]["level"] == "ok"
    assert re.search(r"^the apps of \S+ register \d+ job types$", findings["application"]["says"])


def test_a_site_whose_apps_register_no_job_type_is_well():
    assert check_apps(0).level is Level.OK


def test_types_and_metrics_are_the_sites():
    assert "test.noop" in [known["name"] for known in answer("types")["types"]]
    assert set(answer("metrics")["job_count_by_status"]) == set(Status)


def test_prune_counts_before_it_deletes():
    planned = answer("prune", "--older-than", "3000d", "--dry-run")

    assert planned["dry_run"] and planned["pruned"] == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("explain", "no-such-job"), 1, "There is no job no-such-job"),
        (("enqueue", "no.such.type"), 1, "No job type is called 'no.such.type'"),
        (("pause", "queue"), 2, "Which queue?"),
        (("init",), 2, "No such command"),
    ],
)
def test_what_cannot_be_done_is_said_and_has_an_exit_code(words, code, says):
    done = bench(*words)

    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr


def test_a_site_that_does_not_exist_is_named():
    done = bench("list", site="nowhere.localhost")

    assert done.returncode == 1
    assert "There is no site nowhere.localhost" in done.stderr


def test_bench_loads_next_to_nothing_for_its_other_commands():
    """bench imports every app's commands.py at every command."""
    code = "import sys, job_engine.commands; print(*[m for m in sys.modules if m.startswith(('frappe', 'job_engine'))])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not [name for name in loaded if name.startswith("frappe")]
    assert not {"job_engine.engine", "job_engine.site.engines", "job_engine.runner"} & set(loaded)


# Processes of their own --------------------------------------------------------------------------------------------------------


def test_dispatch_queues_a_job_when_it_is_due_and_stops_when_told_to(here, process):
    dispatcher = process("dispatch")
    assert "Dispatcher started" in dispatcher.stderr.readline()
    job = here.enqueue("test.noop", run_after=1.0)
    frappe.db.commit()

    wait_until(lambda: engine().get(job.name).status is Status.QUEUED)

    queued = engine().history(job.name)[-1]
    assert (queued.at - job.run_after).total_seconds() < 0.5
    code, seconds = stopped(dispatcher)
    assert code == 0
    assert seconds < 1.5


def test_work_runs_jobs_without_rq_and_gives_an_isolated_one_a_process(here, process):
    shared = [here.enqueue("test.noop", {"i": i}) for i in range(20)]
    apart = here.enqueue("test.process")
    frappe.db.commit()

    worker = process("work", "--processes", "1", "--queues", QUEUE)
    wait_until(lambda: all(engine().get(job.name).status is Status.COMPLETED for job in (*shared, apart)))

    who = {job.name: engine().history(job.name)[-1].actor for job in (*shared, apart)}
    assert who.pop(apart.name) not in who.values()
    assert len(set(who.values())) == 1
    assert stopped(worker)[0] == 0
    frappe.db.rollback()
    assert not [signed for signed in engine().store.workers() if QUEUE in (signed.queues or ())]
