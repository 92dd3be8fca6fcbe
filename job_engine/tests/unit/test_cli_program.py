"""The program around the verbs: help, exit codes, errors, the database's URL, and another home for the same verbs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import job_engine
from job_engine.cli.group import SECTIONS, VerbGroup
from job_engine.cli.home import WorkOrders
from job_engine.cli.program import program
from job_engine.core.registry import Registry
from job_engine.engine import Engine
from job_engine.tests.cli_shop import Shop, open_shop, runner

VERBS = [verb for verbs in SECTIONS.values() for verb in verbs]
PRINTS_NO_ANSWER = {"work", "dispatch", "demo"}


@pytest.fixture
def shop(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with open_shop(tmp_path, sqlite_url, monkeypatch) as opened:
        yield opened


def invoke(*arguments: str) -> Any:
    return runner().invoke(program, list(arguments), prog_name="job-engine")


# Help ----------------------------------------------------------------------------------------------------------------


def test_help_names_every_verb_and_what_the_exit_codes_mean(shop: Shop) -> None:
    said = invoke("--help").output
    for verb in VERBS:
        assert f"\n  {verb} " in said
    assert "..." not in said.partition("\nJobs:\n")[2]  # no verb's description is cut off
    for code, meaning in enumerate(("done", "it is not so", "wrong usage", "the database is unavailable")):
        assert f"{code}  {meaning}" in said


@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"demo"}))
def test_every_verbs_help_has_examples(shop: Shop, verb: str) -> None:
    result = invoke(verb, "--help")
    assert result.exit_code == 0
    assert "Examples:\n" in result.output
    assert f"job-engine {verb}" in result.output or f" {verb}" in result.output.partition("Examples:")[2]
    assert list(shop.folder.glob("*.db")) == []


@pytest.mark.parametrize("verb", sorted(set(VERBS) - PRINTS_NO_ANSWER))
def test_every_verb_that_prints_has_json(shop: Shop, verb: str) -> None:
    assert "--json" in invoke(verb, "--help").output


def test_the_version_is_the_packages(shop: Shop) -> None:
    assert invoke("--version").output == f"job-engine {job_engine.__version__}\n"


# Errors and exit codes -----------------------------------------------------------------------------------------------


def test_looking_does_not_create_a_database(shop: Shop) -> None:
    result = shop.run("list", code=1)
    assert "it has no Job Engine tables" in result.stderr
    assert "job-engine init" in result.stderr
    assert not (shop.folder / "jobs.db").exists()


def test_without_a_url_the_file_in_this_folder_is_used_and_said(shop: Shop) -> None:
    result = invoke("init", "--json")
    assert result.exit_code == 0
    assert (shop.folder / "jobs.db").exists()
    assert "using sqlite:///jobs.db in this folder" in result.stderr
    assert json.loads(result.stdout)["database"] == "sqlite:///jobs.db"


def test_the_environment_names_database_and_application(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_ENGINE_DB", f"sqlite:///{shop.folder}/other.db")
    monkeypatch.setenv("JOB_ENGINE_APP", "cli_shop_jobs")
    result = invoke("enqueue", "flaky")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (shop.folder / "other.db").exists()


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("oracle://app:hunter2@host/jobs", 2),
        ("sqlite:jobs.db", 2),
        ("sqlite:///:memory:", 2),
        ("mariadb://app:hunter2@host", 2),
        ("postgresql://app:hunter2@127.0.0.1:1/jobs", 3),
        ("mariadb://app:hunter2@127.0.0.1:1/jobs", 3),
        ("sqlite:////no/such/folder/jobs.db", 3),
    ],
)
@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_a_database_that_cannot_be_used_has_its_exit_code_and_no_password(
    shop: Shop, url: str, code: int, debug: tuple[str, ...]
) -> None:
    pytest.importorskip({"postgresql": "psycopg", "mariadb": "pymysql"}.get(url.partition(":")[0], "sqlite3"))
    result = invoke(*debug, "--db", url, "init")
    assert result.exit_code == code
    assert "hunter2" not in result.stdout + result.stderr
    assert result.stdout == ""
    assert ("Traceback" in result.stderr) == (bool(debug) and code == 3)


def test_a_file_that_is_no_database_is_unavailable(shop: Shop) -> None:
    (shop.folder / "jobs.db").write_text("certainly not a database, but long enough to look at " * 10)
    result = shop.run("list", code=3)
    assert "is not an SQLite database" in result.stderr
    assert "Traceback" not in result.stderr


def test_debug_shows_where_it_happened(shop: Shop) -> None:
    shop.run("init")
    assert "Traceback" not in shop.run("show", "nope", code=1).stderr
    result = shop.run("--debug", "show", "nope", code=1)
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.endswith(
        "Error: There is no job nope in this database: it was pruned, or the transaction that made it was not committed.\n"
    )


def test_an_unexpected_error_is_a_sentence_too(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def boom(self: Engine) -> None:
        raise RuntimeError("boom password=hunter2")

    monkeypatch.setattr(Engine, "tick", boom)
    shop.run("init")
    result = shop.run("tick", code=1)
    assert result.stderr == "Error: Unexpected RuntimeError: boom password=******** With --debug you see where.\n"


@pytest.mark.parametrize("option", ["--db", "--app"])
def test_an_option_of_the_program_after_the_verb_is_explained(shop: Shop, option: str) -> None:
    assert f"{option} stands before the verb" in shop.run("list", option, "x", code=2).stderr


def test_settings_are_numbers_with_names(shop: Shop) -> None:
    assert "Choose from: lease_seconds" in shop.run("--setting", "nope=1", "init", code=2).stderr
    assert "not a number" in shop.run("--setting", "lease_seconds=long", "init", code=2).stderr
    shop.run("--setting", "payload_bytes=100", "init")
    too_long = json.dumps({"text": "x" * 100})
    assert "limit is 100" in shop.run("--setting", "payload_bytes=100", "enqueue", "flaky", too_long, code=1).stderr


def test_work_without_an_application_would_bury_every_job_and_is_refused(shop: Shop) -> None:
    assert "--app" in shop.run("work", code=2, app=False).stderr
    assert not (shop.folder / "jobs.db").exists()


def test_work_names_an_application_that_cannot_be_imported(shop: Shop) -> None:
    assert "no_such_module" in shop.run("--app", "no_such_module", "work", code=1).stderr


# Another home --------------------------------------------------------------------------------------------------------


class OtherHome:
    """As a Frappe site would have it: an engine, types and an actor of its own."""

    debug = False

    def __init__(self, engine: Engine):
        self._engine = engine
        self.worked: WorkOrders | None = None
        self.closed = False

    def engine(self, create: bool = False) -> Engine:
        return self._engine

    def unopened_engine(self) -> Engine:
        return self._engine

    def load_types(self) -> None:
        pass

    def application(self) -> str | None:
        return "the site"

    def address(self) -> str:
        return "the site's database"

    def actor(self) -> str:
        return "Administrator"

    def work(self, orders: WorkOrders) -> None:
        self.worked = orders

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def other_home(shop: Shop) -> Iterator[OtherHome]:
    registry = Registry()
    registry.job("site_job")(lambda ctx: None)
    with Engine.open(shop.url, registry=registry) as engine:
        yield OtherHome(engine)


def bench(home: OtherHome, *arguments: str) -> Any:
    """`bench --site S job-engine VERB`: the same verbs below a program of somebody else's."""

    @click.group()
    def bench() -> None:
        pass

    @bench.group("job-engine", cls=VerbGroup, without=("init", "demo"))
    @click.pass_context
    def job_engine_command(ctx: click.Context) -> None:
        ctx.obj = home

    return runner().invoke(bench, ["job-engine", *arguments])


def test_the_same_verbs_run_in_another_home(other_home: OtherHome) -> None:
    answer = json.loads(bench(other_home, "enqueue", "site_job", "--run-after", "1h", "--json").stdout)
    name = answer["job"]["name"]
    assert bench(other_home, "cancel", name).exit_code == 0
    assert other_home.engine().get(name).canceled_by == "Administrator"
    assert other_home.closed


def test_another_homes_errors_are_sentences_with_exit_codes(other_home: OtherHome) -> None:
    result = bench(other_home, "show", "nope")
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: There is no job nope in this database: it was pruned, or the transaction that made it was not committed.\n",
    )


def test_another_home_can_leave_verbs_out(other_home: OtherHome) -> None:
    assert bench(other_home, "init").exit_code == 2
    said = bench(other_home, "--help").output
    assert "  init " not in said
    assert "  list " in said


def test_work_is_the_homes_own_affair(other_home: OtherHome, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bench(other_home, "work", "--processes", "3", "--queues", "a, b", "--log-level", "error").exit_code == 0
    assert other_home.worked == WorkOrders(3, ("a", "b"), 2.0, "console", "ERROR")
    assert bench(other_home, "work").exit_code == 0
    assert other_home.worked.processes >= 1
    assert other_home.worked.queues is None
    assert bench(other_home, "work", "--queues", "a b").exit_code == 1
