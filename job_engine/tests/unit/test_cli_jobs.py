"""The verbs about jobs: enqueue, list, show, explain, history, retry, cancel; the real program on SQLite, in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from job_engine.core.job import COLUMNS
from job_engine.tests.cli_shop import SECRETS, Shop, open_shop


@pytest.fixture
def shop(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with open_shop(tmp_path, sqlite_url, monkeypatch) as opened:
        yield opened


# enqueue -------------------------------------------------------------------------------------------------------------


def test_enqueue_says_whether_the_job_is_new_or_was_there_already(shop: Shop) -> None:
    arguments = ("enqueue", "send_invoice", '{"order": 42}')
    assert "was created and is Queued" in shop.run(*arguments).stdout
    assert "was there already" in shop.run(*arguments).stdout
    assert shop.json(*arguments)["created"] is False
    assert shop.json("enqueue", "send_invoice", '{"order": 43}')["created"] is True


def test_enqueue_passes_every_option_on(shop: Shop) -> None:
    parent = shop.enqueue("report", "--organization", "ACME")
    options = (
        "--organization ACME --priority high --queue mail --run-after +2h --dedup-key k --timeout 7 --max-attempts 9"
    )
    answer = shop.json("enqueue", "flaky", '{"a": 1}', *options.split(), "--user", "ops", "--depends-on", parent)
    job = answer["job"]
    wanted = {
        "job_type": "flaky",
        "status": "Pending",
        "organization": "ACME",
        "priority": "High",
        "queue": "mail",
        "dedup_key": "k",
        "timeout": 7,
        "max_attempts": 9,
        "user": "ops",
        "depends_on": parent,
        "params": {"a": 1},
    }
    assert {key: job[key] for key in wanted} == wanted
    wait = datetime.fromisoformat(job["run_after"]) - datetime.fromisoformat(job["creation"])
    assert abs(wait - timedelta(hours=2)) < timedelta(seconds=1)


def test_enqueue_depends_on_several(shop: Shop) -> None:
    first, second = shop.enqueue("report"), shop.enqueue("flaky")
    child = shop.enqueue("flaky", "--depends-on", first, "--depends-on", second)
    assert {parent["name"] for parent in shop.json("show", child)["parents"]} == {first, second}
    assert shop.json("show", first)["dependents"] == [child]


@pytest.mark.parametrize("path", ["os.system", "cli_shop_jobs.report"])
def test_a_dotted_path_is_never_called_from_the_command_line(shop: Shop, path: str) -> None:
    result = shop.run("enqueue", path, '{"command": "true"}', code=1)
    assert "a dotted path is never called from here" in result.stderr
    assert "Registered: flaky, report, send_invoice" in result.stderr
    assert not (shop.folder / "jobs.db").exists()


def test_a_mistyped_type_is_answered_with_the_one_that_was_meant(shop: Shop) -> None:
    assert "Did you mean 'report'?" in shop.run("enqueue", "repport", code=1).stderr


def test_without_an_application_enqueue_asks_for_one(shop: Shop) -> None:
    assert "--app" in shop.run("enqueue", "report", code=1, app=False).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (['{"a":}'], "Write a JSON object"),
        (["[1]"], "expected a JSON object"),
        (["{}", "--run-after", "soon"], "is no time"),
        (["{}", "--priority", "urgent"], "is not one of"),
        (["{}", "--max-attempts", "0"], "max-attempts"),
        (["{}", "--from-file", "-"], "not both"),
        (["--from-file", "-", "--dedup-key", "k"], "--dedup-key"),
    ],
)
def test_wrong_arguments_are_wrong_usage(shop: Shop, arguments: list[str], said: str) -> None:
    assert said in shop.run("enqueue", "report", *arguments, code=2, text="{}\n").stderr


def test_enqueue_makes_a_job_of_each_line(shop: Shop) -> None:
    lines = '{"order": 1}\n\n{"order": 2}\n{"order": 1}\n'
    answer = shop.json("enqueue", "send_invoice", "--from-file", "-", text=lines)
    assert (answer["created"], answer["existing"]) == (2, 1)
    assert [job["created"] for job in answer["jobs"]] == [True, True, False]
    assert answer["jobs"][2]["name"] == answer["jobs"][0]["name"]
    (shop.folder / "orders.jsonl").write_text('{"order": 3}\n{"order": 1}\n')
    said = shop.run("enqueue", "send_invoice", "--from-file", "orders.jsonl").stdout
    assert said == "1 jobs were created; 1 were there already.\n"


def test_more_lines_than_one_transaction_takes_are_all_enqueued_in_order(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from job_engine.cli.verbs import enqueue

    monkeypatch.setattr(enqueue, "CHUNK", 3)
    lines = "".join(f'{{"n": {n}}}\n' for n in range(8))
    answer = shop.json("enqueue", "flaky", "--from-file", "-", text=lines)
    with shop.engine() as engine:
        assert [engine.get(job["name"]).params["n"] for job in answer["jobs"]] == list(range(8))


@pytest.mark.parametrize("bad", ["{oops", "[1]", '{"a": NaN}', json.dumps({"a": "x" * 70_000})])
def test_a_bad_line_is_named_and_nothing_is_enqueued(shop: Shop, bad: str) -> None:
    result = shop.run("enqueue", "report", "--from-file", "-", code=1, text=f'{{"n": 1}}\n\n{bad}\n')
    assert "line 3" in result.stderr
    assert "Nothing was enqueued" in result.stderr
    assert not (shop.folder / "jobs.db").exists()


# list ----------------------------------------------------------------------------------------------------------------


def test_list_filters_and_pages(shop: Shop) -> None:
    names = [shop.enqueue("flaky", "--organization", "ACME") for _ in range(3)]
    other = shop.enqueue("report", "--run-after", "1h")
    page = shop.json("list", "--organization", "ACME", "--limit", "2")
    assert [job["name"] for job in page["jobs"]] == names[:0:-1]
    assert page["next_after"] == names[1]
    rest = shop.json("list", "--organization", "ACME", "--limit", "2", "--after", names[1])
    assert ([job["name"] for job in rest["jobs"]], rest["next_after"]) == (names[:1], None)
    for criterion in (["--status", "pending"], ["--type", "report"], ["--queue", "bulk"]):
        assert [job["name"] for job in shop.json("list", *criterion)["jobs"]] == [other]
    everything = shop.json("list", "--status", "pending", "--status", "QUEUED")
    assert len(everything["jobs"]) == 4


def test_list_prints_a_line_for_each_job_and_hints_at_more_on_stderr(shop: Shop) -> None:
    names = [shop.enqueue("flaky") for _ in range(3)]
    result = shop.run("list", "--limit", "2")
    header, *rows = result.stdout.splitlines()
    assert header.split()[:3] == ["NAME", "TYPE", "STATUS"]
    assert [row.split()[0] for row in rows] == names[:0:-1]
    assert f"--after {names[1]}" in result.stderr


def test_a_state_may_be_spelled_as_a_shell_likes_it(shop: Shop) -> None:
    name = shop.enqueue("report")
    shop.work_off()
    for spelling in ("Dead Letter", "dead-letter", "dead_letter", "DEAD LETTER"):
        assert [job["name"] for job in shop.json("list", "--status", spelling)["jobs"]] == [name]
    assert "Choose from: Pending, Queued" in shop.run("list", "--status", "dead", code=2).stderr


def test_an_empty_list_is_empty_and_says_so_beside_it(shop: Shop) -> None:
    shop.run("init")
    result = shop.run("list")
    assert (result.stdout, result.stderr) == ("", "There are no jobs yet.\n")
    assert shop.json("list", "--type", "x") == {"jobs": [], "next_after": None}


# show, explain, history ----------------------------------------------------------------------------------------------


def test_show_has_the_explanation_first_then_the_error_before_its_traceback(shop: Shop) -> None:
    name = shop.enqueue("report", '{"month": "may"}')
    shop.work_off()
    said = shop.run("show", name).stdout
    assert said.startswith("In Dead Letter since")
    order = [said.index(f"\n{title}\n") for title in ("Parameters", "Error", "Traceback")]
    assert order == sorted(order)
    assert '"month": "may"' in said


def test_no_secret_is_shown_anywhere(shop: Shop) -> None:
    params = '{"order": 1, "password": "params-hunter2", "deep": [{"api_key": "deep-hunter2"}]}'
    names = [shop.enqueue("send_invoice", params), shop.enqueue("report", params)]
    shop.work_off()
    for name in names:
        for verb in ("show", "explain", "history"):
            for more in ([], ["--json"]):
                result = shop.run(verb, name, *more)
                said = result.stdout + result.stderr
                assert not [secret for secret in (*SECRETS, "params-hunter2", "deep-hunter2") if secret in said]
    for arguments in (["list", "--json"], ["retry", names[1], "--json"]):
        assert "hunter2" not in shop.run(*arguments).stdout
    assert shop.json("show", names[0])["job"]["result"] == {"api_key": "********", "sent": 1}


def test_a_jobs_json_has_every_field_of_the_job(shop: Shop) -> None:
    job = shop.json("show", shop.enqueue("report"))["job"]
    assert tuple(job) == COLUMNS
    assert datetime.fromisoformat(job["creation"]).utcoffset() == timedelta()


def test_parameters_that_somebody_spoiled_are_shown_as_they_are(shop: Shop) -> None:
    name = shop.enqueue("report")
    with shop.engine() as engine, engine.store.transaction() as session:
        session.execute("UPDATE {job} SET params = %s WHERE name = %s", ("{oops password=hunter2", name))
    assert "{oops password=********" in shop.run("show", name).stdout
    assert shop.json("show", name)["job"]["params"] == "{oops password=********"


def test_explain_is_one_sentence(shop: Shop) -> None:
    name = shop.enqueue("flaky", "--run-after", "2030-01-31T08:00+01:00")
    assert shop.run("explain", name).stdout == "Not due yet; it will be queued at 2030-01-31 07:00:00 UTC.\n"
    answer = shop.json("explain", name)
    assert (answer["name"], answer["status"]) == (name, "Pending")
    assert "Not due yet" in answer["explanation"]


def test_explain_knows_limits_of_the_code_and_does_without_a_broken_application(shop: Shop) -> None:
    name = shop.enqueue("report")
    assert "limited to 2 at once" in shop.run("explain", name).stdout
    (shop.folder / "broken_jobs.py").write_text("1 / 0\n")
    result = shop.run("--app", "broken_jobs", "explain", name)
    assert "ZeroDivisionError" in result.stderr
    assert "Queued" in result.stdout


def test_history_tells_who_did_what(shop: Shop) -> None:
    name = shop.enqueue("send_invoice", '{"order": 1}', "--user", "clerk")
    shop.work_off()
    header, created, claimed, ended = shop.run("history", name).stdout.splitlines()
    assert header.startswith("TIME (UTC)")
    assert "created by clerk" in created
    assert "Running" in claimed
    assert "claimed by" in claimed
    assert "Completed" in ended
    assert "3 processed, 1 failed" in ended
    answer = shop.json("history", name)
    assert answer["name"] == name
    assert [entry["to_status"] for entry in answer["history"]] == ["Queued", "Running", "Completed"]
    assert [entry["from_status"] for entry in answer["history"]] == [None, "Queued", "Running"]
    assert answer["history"][2]["processed"] == 3


@pytest.mark.parametrize("verb", ["show", "explain", "history"])
def test_a_job_that_is_not_there_is_one_sentence_and_exit_code_1(shop: Shop, verb: str) -> None:
    shop.run("init")
    result = shop.run(verb, "nope", code=1)
    assert result.stdout == ""
    assert (
        result.stderr
        == "Error: There is no job nope in this database: it was pruned, or the transaction that made it was not committed.\n"
    )


# retry, cancel -------------------------------------------------------------------------------------------------------


def test_retry_by_name(shop: Shop) -> None:
    names = [shop.enqueue("report"), shop.enqueue("report")]
    shop.work_off()
    assert "will run again; it is Queued" in shop.run("retry", names[0], "--by", "ops").stdout
    assert shop.json("history", names[0])["history"][-1]["actor"] == "ops"
    answer = shop.json("retry", names[1], names[0], "nope", code=1)
    assert answer["retried"] == 1
    assert [job["name"] for job in answer["jobs"]] == [names[1]]
    assert [error["name"] for error in answer["errors"]] == [names[0], "nope"]
    assert "is Queued: only jobs in" in answer["errors"][0]["error"]


def test_whoever_retries_is_by_default_the_user_of_the_system(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "operator")
    name = shop.enqueue("report")
    shop.work_off()
    shop.run("retry", name)
    assert shop.json("history", name)["history"][-1]["actor"] == "operator"


def test_retry_by_filter_previews_and_touches_only_what_matches(shop: Shop) -> None:
    dead = [shop.enqueue("report", "--organization", "ACME") for _ in range(3)]
    others = [shop.enqueue("report", "--organization", "Other"), shop.enqueue("flaky")]
    shop.work_off()
    which = ("retry", "--status", "dead-letter", "--organization", "ACME", "--error-contains", "no such month")
    plan = shop.json(*which, "--dry-run")
    assert (plan["dry_run"], plan["retried"], plan["plan"]["total"]) == (True, 0, 3)
    assert plan["plan"]["by_type"] == {"report": 3}
    preview = shop.run(*which, "--dry-run").stdout
    assert "3 jobs match" in preview
    assert "no such month" in preview
    assert {job["status"] for job in shop.json("list", "--organization", "ACME")["jobs"]} == {"Dead Letter"}
    assert shop.json(*which, "--yes")["retried"] == 3
    with shop.engine() as engine:
        assert {str(engine.get(name).status) for name in dead} == {"Queued"}
        assert [str(engine.get(name).status) for name in others] == ["Dead Letter", "Failed"]
    assert "No job that could be retried matches" in shop.run(*which, "--yes").stdout


def test_retry_can_be_spread_over_time(shop: Shop) -> None:
    for _ in range(3):
        shop.enqueue("report")
    shop.work_off()
    assert "spread over 10 min" in shop.run("retry", "--type", "report", "--spread", "10m", "--yes").stdout
    due = sorted(datetime.fromisoformat(job["run_after"]) for job in shop.json("list")["jobs"])
    assert [later - due[0] for later in due] == [timedelta(0), timedelta(minutes=5), timedelta(minutes=10)]


def test_where_nobody_can_be_asked_retry_by_filter_needs_yes(shop: Shop) -> None:
    name = shop.enqueue("report")
    shop.work_off()
    assert "--yes" in shop.run("retry", "--type", "report", code=2).stderr
    assert shop.json("show", name)["job"]["status"] == "Dead Letter"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "Which jobs?"),
        (["x", "--type", "report"], 2, "not both"),
        (["--status", "running", "--yes"], 1, "cannot be retried"),
        (["--type", "report", "--spread", "10"], 2, "is not a duration"),
    ],
)
def test_retry_that_cannot_be_meant_is_refused(shop: Shop, arguments: list[str], code: int, said: str) -> None:
    shop.run("init")
    assert said in shop.run("retry", *arguments, code=code).stderr


def test_cancel_names_each_job_and_goes_on_after_one_that_cannot_be_canceled(shop: Shop) -> None:
    ended, waiting = shop.enqueue("report"), shop.enqueue("flaky", "--run-after", "1h")
    shop.work_off()
    result = shop.run("cancel", ended, waiting, "--reason", "wrong month", "--by", "ops", code=1)
    assert result.stdout == f"Job {waiting} is canceled.\n"
    assert f"Job {ended} is Dead Letter and cannot become Canceled" in result.stderr
    job = shop.json("show", waiting)["job"]
    assert (job["status"], job["reason"], job["canceled_by"]) == ("Canceled", "wrong month", "ops")


def test_a_running_job_is_asked_to_stop(shop: Shop) -> None:
    name = shop.enqueue("flaky")
    with shop.engine() as engine:
        engine.store.claim_batch("worker", 1)
    answer = shop.json("cancel", name)
    assert answer["errors"] == []
    assert answer["jobs"][0]["status"] == "Running"
    assert answer["jobs"][0]["cancel_requested_at"] is not None
    assert "its worker was asked to stop it" in shop.run("cancel", name).stdout
