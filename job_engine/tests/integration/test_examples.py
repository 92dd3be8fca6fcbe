"""Every example is run as its README says: real processes on a real SQLite file."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from job_engine import Engine, Status

EXAMPLES = Path(__file__).parents[3] / "examples"
LIMIT_SECONDS = 60.0


# Processes -------------------------------------------------------------------------------------------------------------


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(EXAMPLES.parent), **more}


def run(folder: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in an example's folder to its end."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=EXAMPLES / folder,
        env=environment(**variables),
        text=True,
        capture_output=True,
        timeout=LIMIT_SECONDS,
    )


@contextmanager
def running(folder: str, *arguments: str, ends_with: int = 0, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Python in an example's folder, beside us. It must end by itself when it is asked to, as it should."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=EXAMPLES / folder,
        env=environment(**variables),
        text=True,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=LIMIT_SECONDS)
        assert process.returncode == ends_with, errors
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def job_engine(database: Path, app: str) -> tuple[str, ...]:
    """Supervised workers, from the command line."""
    return ("-m", "job_engine.cli", "--db", f"sqlite:///{database}", "--app", app, "work", "--processes", "1")


def wait_until(happened: Callable[[], Any]) -> Any:
    """The answer, as soon as there is one."""
    until = time.monotonic() + LIMIT_SECONDS
    while not (answer := happened()):
        assert time.monotonic() < until, f"nothing happened within {LIMIT_SECONDS:g} s"
        time.sleep(0.02)
    return answer


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


# A plain service -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["worker.py", "job-engine"])
def test_the_plain_service_writes_one_receipt_for_each_order(tmp_path: Path, by: str) -> None:
    database = tmp_path / "shop.db"
    worker = ("worker.py",) if by == "worker.py" else job_engine(database, "handlers")
    for customer in ("alice@example.com", "bob@example.com"):
        done = run("plain_service", "shop.py", "order", customer, "tea", SHOP_DB=str(database))
        assert done.returncode == 0, done.stderr
    with running("plain_service", *worker, SHOP_DB=str(database)):
        wait_until(lambda: len(rows(database, "SELECT 1 FROM receipts")) == 2)
    shown = run("plain_service", "shop.py", "receipts", SHOP_DB=str(database)).stdout.splitlines()
    assert shown == ["Receipt for order 1: tea, alice@example.com", "Receipt for order 2: tea, bob@example.com"]
    assert rows(database, "SELECT DISTINCT status FROM background_job") == [("Completed",)]


def test_the_plain_service_leaves_no_job_behind_a_refused_order(tmp_path: Path) -> None:
    database = tmp_path / "shop.db"
    codes = [
        run("plain_service", "shop.py", "order", "alice@example.com", "coffee", SHOP_DB=str(database)).returncode
        for _ in range(4)  # there are three in stock
    ]
    assert codes == [0, 0, 0, 1]
    assert (
        rows(database, "SELECT COUNT(*) FROM orders") == rows(database, "SELECT COUNT(*) FROM background_job") == [(3,)]
    )


# Django ----------------------------------------------------------------------------------------------------------------

_POST = """
import mysite.worker
from django.test import Client
client = Client(SERVER_NAME="localhost")
for amount in ("42.00", "plenty"):
    answer = client.post("/invoices/", {"customer": "alice@example.com", "amount": amount})
    print(answer.status_code, answer.content.decode())
"""
_ROLL_BACK = """
import mysite.worker
from django.db import transaction
from invoices.billing import bill
try:
    with transaction.atomic():
        bill("alice@example.com", 42)
        raise KeyError
except KeyError:
    pass
"""


@pytest.fixture
def django_db(tmp_path: Path) -> Path:
    pytest.importorskip("django")
    database = tmp_path / "mysite.db"
    done = run("django_project", "manage.py", "migrate", DJANGO_DB=str(database))
    assert done.returncode == 0, done.stderr
    return database


@pytest.mark.parametrize("by", ["manage.py", "job-engine"])
def test_the_django_project_sends_invoices_from_its_command_and_its_view(django_db: Path, by: str) -> None:
    worker = ("manage.py", "work") if by == "manage.py" else job_engine(django_db, "mysite.worker")
    billed = run("django_project", "manage.py", "bill", "bob@example.com", "7.50", DJANGO_DB=str(django_db))
    assert "Invoice 1 is written" in billed.stdout, billed.stderr
    posted = run("django_project", "-c", _POST, DJANGO_DB=str(django_db))
    assert [line[:3] for line in posted.stdout.splitlines()] == ["202", "400"], posted.stderr
    with running("django_project", *worker, DJANGO_DB=str(django_db)):
        wait_until(lambda: rows(django_db, "SELECT COUNT(*) FROM background_job WHERE status = 'Completed'") == [(2,)])
    assert rows(django_db, "SELECT COUNT(*) FROM invoices_invoice WHERE sent_at IS NOT NULL") == [(2,)]


def test_the_django_projects_job_is_rolled_back_with_its_invoice(django_db: Path) -> None:
    done = run("django_project", "-c", _ROLL_BACK, DJANGO_DB=str(django_db))
    assert done.returncode == 0, done.stderr
    assert rows(django_db, "SELECT (SELECT COUNT(*) FROM invoices_invoice), (SELECT COUNT(*) FROM background_job)") == [
        (0, 0)
    ]


def test_the_django_projects_migration_is_that_of_its_models(django_db: Path) -> None:
    done = run("django_project", "manage.py", "makemigrations", "--check", "--dry-run", DJANGO_DB=str(django_db))
    assert done.returncode == 0, done.stdout


# FastAPI ---------------------------------------------------------------------------------------------------------------

ADMIN = {"Authorization": "Bearer admin-token"}
READER = {"Authorization": "Bearer read-token"}


def report(month: str = "2026-01", **more: Any) -> dict[str, Any]:
    return {"job_type": "monthly_report", "params": {"month": month}, **more}


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    variables = {"JOBS_ADMIN_TOKEN": "admin-token", "JOBS_READ_TOKEN": "read-token"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


@pytest.fixture
def service(tokens: dict[str, str], sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The service's module, on a database of its own."""
    pytest.importorskip("fastapi")
    monkeypatch.setenv("JOBS_DB", sqlite_url)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(EXAMPLES / "fastapi_service"))
    yield importlib.import_module("service")
    for name in ("service", "reports"):
        sys.modules.pop(name, None)


@pytest.fixture
def client(service: Any) -> Iterator[Any]:
    from fastapi.testclient import TestClient

    with TestClient(service.app) as client:
        yield client


@pytest.fixture
def jobs(service: Any, sqlite_url: str) -> Iterator[Engine]:
    """What a worker would have: another engine on the service's database."""
    with Engine.open(sqlite_url) as engine:
        yield engine


def schedule(client: Any, *wanted: dict[str, Any], headers: dict[str, str] = ADMIN) -> Any:
    return client.post("/jobs/schedule", json={"jobs": list(wanted)}, headers=headers)


def test_the_fastapi_service_schedules_several_jobs_and_shows_how_far_they_are(client: Any, jobs: Engine) -> None:
    answer = schedule(client, report("2026-01"), report("2026-02", run_after="2999-01-01T00:00:00Z", priority="High"))
    assert answer.status_code == 202
    now, later = (job["name"] for job in answer.json())
    assert jobs.run_once() == 1
    done = client.get(f"/jobs/{now}", headers=READER).json()
    assert (done["status"], done["progress"], done["progress_message"]) == ("Completed", 100, "Page 10 of 10")
    assert done["result"] == {"file": "/reports/2026-01.pdf"}
    waiting = client.get(f"/jobs/{later}", headers=READER).json()
    assert waiting["status"] == "Pending"
    assert "2999-01-01" in waiting["explanation"]


def test_the_fastapi_service_returns_the_same_jobs_for_the_same_idempotency_key(client: Any, jobs: Engine) -> None:
    headers = {**ADMIN, "Idempotency-Key": "k" * 200}
    first = schedule(client, report("2026-01"), report("2026-02"), headers=headers).json()
    jobs.run_once()  # also after they have run
    again = schedule(client, report("2026-01"), report("2026-02"), headers=headers)
    assert again.status_code == 202
    assert [job["name"] for job in again.json()] == [job["name"] for job in first]
    assert [job["created"] for job in first + again.json()] == [True, True, False, False]
    assert jobs.count() == 2


def test_the_fastapi_service_refuses_a_key_that_was_used_for_other_jobs_and_writes_nothing(
    client: Any, jobs: Engine
) -> None:
    headers = {**ADMIN, "Idempotency-Key": "order-42"}
    assert schedule(client, report("2026-01"), headers=headers).status_code == 202
    answer = schedule(client, report("2026-03"), report("2026-04"), headers=headers)
    assert answer.status_code == 409
    assert "Idempotency-Key" in answer.json()["detail"]
    assert jobs.count() == 1


@pytest.mark.parametrize(
    ("wanted", "headers", "code", "words"),
    [
        ([report()], {}, 401, "known token"),
        ([report()], {"Authorization": "Bearer guess"}, 401, "known token"),
        ([report()], READER, 403, "administrator"),
        ([report()], {**ADMIN, "Idempotency-Key": "x" * 300}, 400, "Idempotency-Key"),
        ([report(), report("2026-02", priority="Urgent")], ADMIN, 400, "Critical, High, Normal, Low"),
        ([report("x" * 70_000)], ADMIN, 413, "65,536"),
        ([report("x" * 1_000_000)], ADMIN, 413, "1000000"),
        ([report(), {"job_type": "os.system", "params": {"command": "true"}}], ADMIN, 422, "monthly_report"),
        ([report(run_after="tomorrow")], ADMIN, 422, "run_after"),
        ([report(run_after="2026-01-01T00:00:00")], ADMIN, 422, "timezone"),
        ([report(params=[1])], ADMIN, 422, "params"),
        ([], ADMIN, 422, "jobs"),
    ],
)
def test_the_fastapi_service_refuses_in_words_and_writes_nothing(
    client: Any, jobs: Engine, wanted: list[dict[str, Any]], headers: dict[str, str], code: int, words: str
) -> None:
    answer = schedule(client, *wanted, headers=headers)
    assert answer.status_code == code
    assert words.lower() in answer.json()["detail"].lower()
    assert jobs.count() == 0


def test_the_fastapi_service_does_not_know_a_job_that_is_not_there(client: Any) -> None:
    answer = client.get("/jobs/nobody", headers=READER)
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "There is no job nobody in this database: it was pruned, or the transaction that made it was not committed.",
    )


def test_the_fastapi_service_runs_under_uvicorn(tokens: dict[str, str], tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    socket = tmp_path / "http"  # a socket in a folder of our own cannot be taken, as a port can
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    arguments = ("-m", "uvicorn", "service:app", "--uds", str(socket))
    # uvicorn cleans up, then lets the signal end it.
    with running("fastapi_service", *arguments, ends_with=-signal.SIGTERM, JOBS_DB=url) as server:
        assert server.stderr is not None
        for line in server.stderr:
            if "Uvicorn running" in line:
                break
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://service") as client:
            name = schedule(client, report()).json()[0]["name"]
            assert client.get(f"/jobs/{name}", headers=READER).json()["status"] == Status.QUEUED
    found = rows(tmp_path / "jobs.db", "SELECT name, params FROM background_job")
    assert [(found_name, json.loads(params)) for found_name, params in found] == [(name, {"month": "2026-01"})]
