"""A small application and its database, for tests of the command line: in this process, or as real processes."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import job_engine
from job_engine.core.clock import Clock
from job_engine.core.registry import default_registry
from job_engine.engine import Engine

MODULE = "cli_shop_jobs"
SOURCE = """
from job_engine import PermanentError, TransientError, job

@job("send_invoice", dedup_window=300)
def send_invoice(ctx, order, **rest):
    ctx.report(processed=3, failed=1)
    return {"sent": order, "api_key": "result-hunter2"}

@job("report", queue="bulk", timeout=60, max_attempts=3, retry=[10, 20], concurrency=2, rate="100/m", dedup_window=0)
def report(ctx, **params):
    raise PermanentError("no such month, token=error-hunter2 \\x1b[31mred")

@job("flaky", dedup_window=0)
def flaky(ctx, **params):
    raise TransientError("the other side is away")
"""
SECRETS = ("result-hunter2", "error-hunter2")


class Shop:
    def __init__(self, folder: Path, url: str):
        self.folder = folder
        self.url = url
        (folder / f"{MODULE}.py").write_text(SOURCE)

    # In this process

    def run(self, *arguments: str, code: int = 0, text: str | None = None, app: bool = True) -> Result:
        """Run the real program. What it says is in the message when its exit code is another than expected."""
        from job_engine.cli.program import program

        given = ["--db", self.url, *(["--app", MODULE] if app else []), *arguments]
        result = runner().invoke(program, given, input=text, prog_name="job-engine")
        assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
        return result

    def json(self, *arguments: str, code: int = 0, text: str | None = None) -> Any:
        """The one document on standard output."""
        return json.loads(self.run(*arguments, "--json", code=code, text=text).stdout)

    def enqueue(self, *arguments: str) -> str:
        """A new job's name."""
        name: str = self.json("enqueue", *arguments)["job"]["name"]
        return name

    @contextmanager
    def engine(self, clock: Clock | None = None) -> Iterator[Engine]:
        """With the application's types."""
        import_module(MODULE)
        with Engine.open(self.url, clock) as engine:
            yield engine

    def work_off(self) -> None:
        """Run what is due, as a worker would."""
        with self.engine() as engine:
            engine.run_once()

    # As processes of their own

    def environment(self, **more: str) -> dict[str, str]:
        home = str(Path(job_engine.__file__).parents[1])
        return {
            **os.environ,
            "PYTHONPATH": home,
            "JOB_ENGINE_DB": self.url,
            "JOB_ENGINE_APP": MODULE,
            "NO_COLOR": "1",
            **more,
        }

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "job_engine.cli", *arguments],
            cwd=self.folder,
            env=options.pop("env", None) or self.environment(),
            text=True,
            **options,
        )

    def command(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        process = self.start(
            *arguments, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def runner() -> CliRunner:
    """One that keeps standard output and standard error apart."""
    try:
        return CliRunner(mix_stderr=False)  # type: ignore[call-arg]
    except TypeError:  # newer versions of click never mix them
        return CliRunner()


@contextmanager
def open_shop(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """The program registers types and configures logging for its whole process: undo that."""
    logger = logging.getLogger("job_engine")
    before = (logger.handlers[:], logger.level, logger.propagate)
    monkeypatch.setattr(default_registry, "_types", {})
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(folder)
    for variable in ("JOB_ENGINE_DB", "JOB_ENGINE_APP"):
        monkeypatch.delenv(variable, raising=False)
    sys.modules.pop(MODULE, None)
    try:
        yield Shop(folder, url)
    finally:
        sys.modules.pop(MODULE, None)
        logger.handlers[:], logger.propagate = before[0], before[2]
        logger.setLevel(before[1])
