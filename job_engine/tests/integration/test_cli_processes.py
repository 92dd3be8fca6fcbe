"""`job-engine` as its users meet it: real processes, signals, pipes and a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from job_engine.tests.acceptance.waiting import until
from job_engine.tests.cli_shop import Shop, open_shop

LIMIT_SECONDS = 60.0


@pytest.fixture
def shop(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with open_shop(tmp_path, sqlite_url, monkeypatch) as opened:
        yield opened


def wait_for(what: str, so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until it is so; a process that ended by itself ends the wait as a failure."""

    def look() -> bool:
        assert process.poll() is None, f"the process ended with {process.returncode} before {what}"
        return so()

    until(look, what)


def stop(process: subprocess.Popen[str]) -> str:
    """SIGTERM, as an init system does it. Returns what was logged."""
    process.send_signal(signal.SIGTERM)
    _, logged = process.communicate(timeout=LIMIT_SECONDS)
    return logged


def test_work_drains_the_queue_and_stops_orderly_on_sigterm(shop: Shop) -> None:
    lines = "".join(f'{{"order": {n}}}\n' for n in range(50))
    assert shop.json("enqueue", "send_invoice", "--from-file", "-", text=lines)["created"] == 50
    process = shop.start(
        "work", "--processes", "2", "--log-format", "json", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        with shop.engine() as engine:
            wait_for("50 completed jobs", lambda: engine.count(status="Completed") == 50, process)
            wait_for("both workers", lambda: len(engine.store.workers()) == 2, process)
            logged = stop(process)
            assert engine.store.workers() == []
    finally:
        process.kill()
    assert process.returncode == 0
    actions = [json.loads(line)["action"] for line in logged.splitlines()]
    assert actions.count("worker_started") == 2
    assert actions[-1] == "supervisor_stopped"


def test_dispatch_waits_for_its_database_queues_what_is_due_and_stops_on_sigterm(shop: Shop) -> None:
    folder = shop.folder / "later"
    url = f"sqlite:///{folder}/jobs.db"
    process = shop.start("dispatch", "--every", "0.05", env=shop.environment(JOB_ENGINE_DB=url), stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        assert "Dispatcher started" in process.stderr.readline()
        assert "Trying again in" in process.stderr.readline()
        folder.mkdir()
        later = Shop(shop.folder, url)
        wait_for("the database", lambda: (folder / "jobs.db").exists(), process)
        with later.engine() as engine:
            name = engine.enqueue("flaky", run_after=0.2).name
            wait_for("the job to be queued", lambda: engine.get(name).status == "Queued", process)
        assert "Dispatcher stopped" in stop(process)
    finally:
        process.kill()
    assert process.returncode == 0


def test_exit_codes_mean_something(shop: Shop) -> None:
    away = shop.environment(JOB_ENGINE_DB="sqlite:////no/such/folder/jobs.db")
    for code, arguments, environment in (
        (0, ["init"], None),
        (0, ["list"], None),
        (1, ["show", "nope"], None),
        (2, ["list", "--no-such-option"], None),
        (2, ["no-such-verb"], None),
        (3, ["init"], away),
    ):
        done = shop.command(*arguments, env=environment)
        assert done.returncode == code, done
        assert "Traceback" not in done.stderr


def test_a_reader_who_has_seen_enough_gets_no_traceback(shop: Shop) -> None:
    lines = "".join(f'{{"n": {n}}}\n' for n in range(2000))
    shop.run("enqueue", "flaky", "--from-file", "-", text=lines)
    process = shop.start("list", "--limit", "2000", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith("NAME")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait(timeout=LIMIT_SECONDS)


def test_a_locale_without_unicode_does_not_stop_anything(shop: Shop) -> None:
    name = shop.enqueue("report", '{"city": "Łask"}')
    latin = shop.environment(PYTHONUTF8="0", PYTHONIOENCODING="latin-1", LC_ALL="C")
    shown = shop.command("show", name, env=latin)
    assert shown.returncode == 0, shown.stderr
    assert r"\u0141ask" in shown.stdout
    assert json.loads(shop.command("show", name, "--json", env=latin).stdout)["job"]["params"] == {"city": "Łask"}


# On a terminal -------------------------------------------------------------------------------------------------------


def on_a_terminal(shop: Shop, *arguments: str, answer: str | None = None) -> tuple[int, str]:
    """What a person sees who types this, and answers the question that ends in [y/N]."""
    master, slave = pty.openpty()
    environment = shop.environment(TERM="xterm-256color", COLUMNS="80", LINES="24")
    del environment["NO_COLOR"]
    process = shop.start(*arguments, env=environment, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    deadline = time.monotonic() + LIMIT_SECONDS
    try:
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 0.1)[0]:
                continue
            try:
                got = os.read(master, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not got:
                break
            seen += got
            if answer is not None and b"[y/N]" in seen:
                os.write(master, answer.encode() + b"\n")
                answer = None
        code = process.wait(timeout=max(1.0, deadline - time.monotonic()))
    finally:
        process.kill()
        os.close(master)
    return code, seen.decode()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@pytest.fixture
def dead(shop: Shop) -> str:
    name = shop.enqueue("report", "--organization", "An organization with a rather long name")
    shop.work_off()
    return name


def test_a_terminal_of_80_columns_shows_whole_names_on_single_lines(shop: Shop, dead: str) -> None:
    code, seen = on_a_terminal(shop, "list")
    header, row = plain(seen).splitlines()
    assert code == 0
    assert header.startswith("NAME")
    assert row.startswith(f"{dead}  report")
    assert max(len(header), len(row)) <= 80
    assert "\x1b[1;31mDead Letter" in seen


def test_on_a_terminal_retry_asks_and_yes_means_yes(shop: Shop, dead: str) -> None:
    code, seen = on_a_terminal(shop, "retry", "--type", "report", answer="y")
    assert code == 0
    assert "Retry 1 jobs?" in plain(seen)
    assert "1/1" in plain(seen)  # the progress bar
    assert "1 jobs were retried." in plain(seen)
    assert shop.json("show", dead)["job"]["status"] == "Queued"


def test_on_a_terminal_retry_asks_and_no_means_no(shop: Shop, dead: str) -> None:
    code, seen = on_a_terminal(shop, "retry", "--type", "report", answer="n")
    assert code == 1
    assert "Aborted" in plain(seen)
    assert shop.json("show", dead)["job"]["status"] == "Dead Letter"


def test_doctor_on_a_terminal_puts_the_advice_below_what_it_found(shop: Shop, dead: str) -> None:
    code, seen = on_a_terminal(shop, "doctor")
    assert code == 0
    assert re.search(r"warning +dead letters +1 jobs need a person *\r\n +-> `job-engine list", plain(seen))
