"""The same verbs on each database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from job_engine.core.redact import redact_text
from job_engine.tests.cli_shop import Shop, open_shop
from job_engine.tests.clock import FrozenClock
from job_engine.tests.databases import KINDS


@pytest.fixture
def shop(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with open_shop(tmp_path, database_url, monkeypatch) as opened:
        yield opened


def test_a_job_from_enqueue_to_prune(shop: Shop) -> None:
    name = shop.enqueue("report", '{"month": "may"}', "--organization", "ACME", "--user", "clerk")
    assert shop.json("enqueue", "send_invoice", '{"order": 1}', "--dedup-key", "k")["created"] is True
    assert shop.json("enqueue", "send_invoice", '{"order": 2}', "--dedup-key", "k")["created"] is False
    shop.work_off()
    assert "In Dead Letter since" in shop.run("show", name).stdout
    assert [job["name"] for job in shop.json("list", "--status", "dead-letter")["jobs"]] == [name]
    assert [e["to_status"] for e in shop.json("history", name)["history"]] == ["Queued", "Running", "Dead Letter"]
    assert shop.json("metrics")["job_count_by_status"]["Dead Letter"] == 1
    assert shop.json("retry", "--error-contains", "no such month", "--yes")["retried"] == 1
    assert shop.json("pause", "type", "report")["queued_jobs"] == 1
    assert "report is paused" in shop.run("explain", name).stdout
    assert shop.json("resume", "type", "report")["resumed"] is True
    assert shop.json("cancel", name)["jobs"][0]["status"] == "Canceled"
    assert shop.json("prune", "--older-than", "0s")["matched"] == {"Canceled": 1, "Completed": 1, "Dead Letter": 0}
    assert shop.json("list")["jobs"] == []


def test_doctor_knows_the_database_and_what_is_stuck_in_it(shop: Shop) -> None:
    shop.run("init")
    with shop.engine() as engine:
        title, now = engine.store.dialect.name, engine.store.now()
    with shop.engine(FrozenClock(now - timedelta(hours=1))) as an_hour_ago:
        an_hour_ago.enqueue("flaky")
        an_hour_ago.store.claim_batch("gone", 1)
        an_hour_ago.enqueue("flaky", run_after=0)
    answer = shop.json("doctor", code=1)
    found = {finding["check"]: finding for finding in answer["findings"]}
    assert re.match(rf"{title} \d+\.\d+", found["database"]["says"])
    assert {check: found[check]["level"] for check in ("tables", "clock", "leases", "waiting", "workers", "types")} == {
        "tables": "ok",
        "clock": "ok",
        "leases": "warning",
        "waiting": "warning",
        "workers": "problem",
        "types": "ok",
    }
    assert "1 running jobs" in found["leases"]["says"]


def test_nothing_prints_the_databases_password(shop: Shop) -> None:
    results = [
        shop.run("init"),
        shop.run("doctor"),
        shop.run("doctor", "--json"),
        shop.run("--debug", "show", "x", code=1),
    ]
    said = [result.stdout + result.stderr for result in results]
    if redact_text(shop.url) == shop.url:
        assert shop.url in said[0]  # a file has no password
    else:
        password = shop.url.partition("@")[0].rpartition(":")[2]
        assert password
        assert not [text for text in said if password in text]


@pytest.mark.parametrize("wrong", ["user", "database"])
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=getattr(pytest.mark, kind)) for kind in KINDS])
def test_a_login_that_fails_or_a_database_that_is_missing_is_unavailable(
    kind: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    right = request.getfixturevalue(f"{kind}_url")
    url = right.replace("://", "://nobody_", 1) if wrong == "user" else f"{right}_missing"
    with open_shop(tmp_path, url, monkeypatch) as shop:
        result = shop.run("list", code=3)
        assert result.stderr.startswith("Error: ")
        assert len(result.stderr.splitlines()) == 1
        found = shop.json("doctor", code=1)["findings"]
        assert (found[0]["check"], found[0]["level"]) == ("database", "problem")


def test_a_database_without_tables_is_not_changed_by_looking(
    blank_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_shop(tmp_path, blank_database_url, monkeypatch) as shop:
        for verb in ("list", "metrics", "tick"):
            assert "no Job Engine tables" in shop.run(verb, code=1).stderr
        levels = {f["check"]: f["level"] for f in shop.json("doctor", code=1)["findings"]}
        assert "problem" in (levels.get("tables"), levels["database"])
        shop.run("list", code=1)
        shop.run("init")
        assert shop.json("list")["jobs"] == []
