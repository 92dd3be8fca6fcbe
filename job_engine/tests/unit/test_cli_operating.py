"""The verbs of operators: metrics, doctor, types, pause, resume, limit, prune, tick, rescue, init, dispatch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

import pytest

from job_engine.cli.dispatching import dispatch
from job_engine.cli.waiting import LONGEST_PAUSE, when_available
from job_engine.core.errors import StoreUnavailable
from job_engine.engine import Engine
from job_engine.metrics import Metrics
from job_engine.tests.cli_shop import Shop, open_shop
from job_engine.tests.clock import FrozenClock


@pytest.fixture
def shop(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with open_shop(tmp_path, sqlite_url, monkeypatch) as opened:
        yield opened


def days_ago(shop: Shop, days: float) -> AbstractContextManager[Engine]:
    """An engine of the past, on the same database."""
    with shop.engine() as engine:
        return shop.engine(FrozenClock(engine.store.now() - timedelta(days=days)))


# metrics -------------------------------------------------------------------------------------------------------------


def test_metrics_for_people_scripts_and_prometheus(shop: Shop) -> None:
    shop.enqueue("report", "--organization", "ACME")
    shop.work_off()
    waiting = shop.enqueue("flaky", "--priority", "High")
    numbers = shop.json("metrics")
    assert tuple(numbers) == tuple(Metrics.__dataclass_fields__)
    assert numbers["job_count_by_status"]["Dead Letter"] == 1
    assert numbers["queue_depth_by_priority"]["High"] == 1
    assert numbers["oldest_waiting_job"] == waiting
    assert shop.json("metrics", "--organization", "ACME")["job_count_by_status"]["Queued"] == 0
    said = shop.run("metrics").stdout
    assert "Dead Letter     1" in said
    assert waiting in said
    text = shop.run("metrics", "--prometheus").stdout
    assert 'job_engine_jobs_dead_letter_total{job_type="report"} 1\n' in text
    assert "not both" in shop.run("metrics", "--prometheus", "--json", code=2).stderr


# types, limit --------------------------------------------------------------------------------------------------------


def test_types_shows_the_codes_policy_before_there_is_a_database(shop: Shop) -> None:
    types = {entry["name"]: entry for entry in shop.json("types")["types"]}
    assert sorted(types) == ["flaky", "report", "send_invoice"]
    report = types["report"]
    wanted = {"queue": "bulk", "timeout": 60, "max_attempts": 3, "concurrency": 2, "paused": False}
    assert {key: report[key] for key in wanted} == wanted
    assert report["rate"] == {"count": 100, "seconds": 60.0}
    assert report["retry"]["delays"] == [10.0, 20.0]
    assert report["handler"] == "cli_shop_jobs.report"
    assert "10s, 20s" in shop.run("types").stdout
    assert not (shop.folder / "jobs.db").exists()


def test_types_shows_what_an_operator_has_set(shop: Shop) -> None:
    shop.run("init")
    shop.run("limit", "type", "report", "--concurrency", "7")
    shop.run("pause", "type", "flaky")
    types = {entry["name"]: entry for entry in shop.json("types")["types"]}
    assert types["report"]["concurrency"] == 7
    assert types["flaky"]["paused"] is True


def test_without_types_types_asks_for_an_application(shop: Shop) -> None:
    result = shop.run("types", app=False)
    assert result.stdout == ""
    assert "--app" in result.stderr


def test_a_limit_is_set_shown_and_taken_back(shop: Shop) -> None:
    shop.run("init")
    answer = shop.json("limit", "organization", "Big Corp", "--concurrency", "5", "--rate", "10/30s")
    wanted = {"scope": "organization", "target": "Big Corp", "concurrency": 5, "rate": {"count": 10, "seconds": 30.0}}
    assert answer == wanted
    assert shop.json("limit", "organization", "Big Corp") == wanted
    assert shop.run("limit", "organization", "Big Corp").stdout == "Organization Big Corp: 5 at once, 10 in 30 s.\n"
    assert shop.run("limit", "organization", "Big Corp", "--none").stdout == "Organization Big Corp: no limit.\n"


def test_a_limit_taken_back_leaves_the_codes(shop: Shop) -> None:
    shop.run("init")
    shop.run("limit", "type", "report", "--concurrency", "9")
    assert shop.json("limit", "type", "report", "--none")["concurrency"] == 2


@pytest.mark.parametrize(
    "arguments",
    [["--concurrency", "0"], ["--rate", "5/x"], ["--none", "--rate", "5/s"], ["--none", "--concurrency", "1"]],
)
def test_a_limit_that_makes_no_sense_is_wrong_usage(shop: Shop, arguments: list[str]) -> None:
    shop.run("init")
    shop.run("limit", "type", "report", *arguments, code=2)
    assert shop.json("limit", "type", "report")["concurrency"] == 2


# pause, resume -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", [("type", "flaky"), ("queue", "default"), ("organization", "Big Corp"), ("everything",)]
)
def test_what_is_paused_waits_until_it_is_resumed(shop: Shop, what: tuple[str, ...]) -> None:
    name = shop.enqueue("flaky", "--organization", "Big Corp")
    answer = shop.json("pause", *what, "--reason", "lunch", "--by", "ops")
    assert answer == {"scope": what[0], "target": "".join(what[1:]) or None, "paused": True, "queued_jobs": 1}
    shop.work_off()
    assert "paused by ops" in shop.run("explain", name).stdout
    assert "(lunch)" in shop.run("explain", name).stdout
    assert shop.run("resume", *what).stdout == f"Resumed {' '.join(what)}.\n"
    shop.work_off()
    assert shop.json("show", name)["job"]["attempts"] == 1


def test_resume_of_what_is_not_paused_is_exit_code_1_and_names_what_is(shop: Shop) -> None:
    shop.run("init")
    shop.run("pause", "queue", "bulk")
    result = shop.run("resume", "type", "sendInvoice", code=1)
    assert result.stderr == "Error: Type sendInvoice is not paused. Paused: queue bulk.\n"
    assert shop.json("resume", "type", "x", code=1)["resumed"] is False


@pytest.mark.parametrize("what", [["type"], ["everything", "x"], ["planet", "x"], []])
@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_pause_of_nothing_in_particular_is_wrong_usage(shop: Shop, verb: str, what: list[str]) -> None:
    shop.run(verb, *what, code=2)


# prune, tick, rescue, init -------------------------------------------------------------------------------------------


def test_prune_counts_first_and_forgets_only_what_is_old(shop: Shop) -> None:
    shop.run("init")
    with days_ago(shop, 40) as long_ago:
        long_ago.enqueue("flaky")
        old = long_ago.enqueue("report")
        long_ago.run_once()
    shop.enqueue("report")
    shop.work_off()
    plan = shop.json("prune", "--dry-run")
    assert plan == {
        "dry_run": True,
        "older_than_seconds": 30 * 86400.0,
        "matched": {"Canceled": 0, "Completed": 0, "Dead Letter": 1},
        "pruned": 0,
    }
    assert "1 jobs that ended more than 30 d ago would be forgotten" in shop.run("prune", "--dry-run").stdout
    assert shop.json("prune", "--status", "completed")["pruned"] == 0
    assert shop.json("prune", "--older-than", "50d")["pruned"] == 0
    assert shop.run("prune", "--older-than", "39d").stdout == "1 jobs that ended more than 39 d ago were forgotten.\n"
    shop.run("show", old.name, code=1)
    assert len(shop.json("list")["jobs"]) == 2


def test_prune_never_touches_what_has_not_ended(shop: Shop) -> None:
    shop.run("init")
    assert "have not ended" in shop.run("prune", "--status", "queued", code=2).stderr


def test_tick_and_rescue_tell_what_they_did(shop: Shop) -> None:
    shop.run("init")
    with days_ago(shop, 1) as yesterday:
        yesterday.enqueue("flaky")
        yesterday.enqueue("flaky", {"later": True}, run_after=60)
        yesterday.store.claim_batch("gone", 1)
    assert shop.json("rescue") == {"rescued": 1}
    assert shop.json("tick") == {"promoted": 1, "rescued": 0}
    assert shop.run("tick").stdout == "0 jobs were queued, 0 rescued.\n"
    assert shop.run("rescue").stdout == "0 jobs were rescued.\n"


def test_init_creates_the_tables_and_may_be_repeated(shop: Shop) -> None:
    for _ in range(2):
        assert shop.json("init") == {"database": shop.url, "schema_version": 1}
    assert "is ready" in shop.run("init").stdout


# doctor --------------------------------------------------------------------------------------------------------------


def levels(answer: dict) -> dict[str, str]:
    return {finding["check"]: finding["level"] for finding in answer["findings"]}


def test_doctor_does_not_create_what_is_missing(shop: Shop) -> None:
    answer = shop.json("doctor", code=1)
    assert answer["healthy"] is False
    assert levels(answer) == {"database": "problem", "application": "ok"}
    assert not (shop.folder / "jobs.db").exists()


def test_doctor_finds_a_database_without_tables(shop: Shop) -> None:
    (shop.folder / "jobs.db").touch()
    assert levels(shop.json("doctor", code=1))["tables"] == "problem"


def test_doctor_finds_what_is_wrong_and_says_what_to_do(shop: Shop) -> None:
    shop.run("init")
    with days_ago(shop, 1) as yesterday:
        yesterday.enqueue("flaky")
        yesterday.store.claim_batch("gone", 1)
        yesterday.enqueue("report")
        yesterday.pause("queue", "mail", "ops", "moving")
        dead = yesterday.enqueue("report", {"a": 1}, queue="mail")
        yesterday.store.claim_batch("gone", 1, ("bulk",))
        yesterday.store.mark_failed(yesterday.find(status="Running", job_type="report")[0].name, "gone", 1, "broken")
    with shop.engine() as engine, engine.store.transaction() as session:
        session.execute("UPDATE {job} SET job_type = 'renamed' WHERE name = %s", (dead.name,))
    answer = shop.json("doctor", code=1)
    assert levels(answer) == {
        "database": "ok",
        "filesystem": "ok",
        "durability": "ok",
        "tables": "ok",
        "clock": "ok",
        "application": "ok",
        "workers": "problem",
        "waiting": "warning",
        "leases": "warning",
        "types": "problem",
        "dead letters": "warning",
        "pauses": "warning",
    }
    assert all(finding["advice"] for finding in answer["findings"] if finding["level"] != "ok")
    said = shop.run("doctor", code=1).stdout
    assert "renamed (1)" in said
    assert "queue mail by ops" in said


def test_warnings_alone_leave_doctors_exit_code_0(shop: Shop) -> None:
    shop.run("init")
    answer = shop.json("doctor")
    assert answer["healthy"] is True
    assert levels(answer)["workers"] == "warning"


def test_a_job_for_a_trusted_callers_function_has_no_type_to_register(shop: Shop) -> None:
    with shop.engine() as engine:
        engine.enqueue("json.dumps", {"obj": 1}, run_after=60)
    assert levels(shop.json("doctor"))["types"] == "ok"


def test_an_application_that_cannot_be_imported_is_a_problem(shop: Shop) -> None:
    shop.run("init")
    for app, said in (("no_such_module", "cannot be imported"), ("broken_jobs", "fails while it is imported")):
        (shop.folder / "broken_jobs.py").write_text("raise RuntimeError('no configuration')\n")
        result = shop.run("--app", app, "doctor", code=1)
        assert said in result.stdout


# dispatch, waiting ---------------------------------------------------------------------------------------------------


def test_dispatch_goes_on_after_an_outage(shop: Shop) -> None:
    shop.run("init")
    with days_ago(shop, 1) as yesterday:
        name = yesterday.enqueue("flaky", run_after=60).name
    stopping = threading.Event()
    calls = []
    with shop.engine() as engine:

        def engine_of() -> Engine:
            calls.append(len(calls))
            if len(calls) == 1:
                raise StoreUnavailable("The database is away.")
            if len(calls) == 3:
                stopping.set()
            return engine

        dispatch(engine_of, 0.01, stopping)
        assert engine.get(name).status == "Queued"
    assert len(calls) == 3


def test_when_available_tries_again_later_and_later() -> None:
    pauses: list[float] = []

    def ask() -> str:
        if len(pauses) < 8:
            raise StoreUnavailable("away")
        return "here"

    assert when_available(ask, pauses.append) == "here"
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE
