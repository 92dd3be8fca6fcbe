"""`explain`: one sentence."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option
from job_engine.core.errors import JobEngineError
from job_engine.core.job import Job
from job_engine.core.redact import redact_text
from job_engine.engine import Engine
from job_engine.explaining import explain


@click.command(
    "explain",
    short_help="Say why a job is where it is, and what happens next.",
    epilog=examples("job-engine explain 01kxyz...", "job-engine explain 01kxyz... --json"),
)
@click.argument("name")
@json_option
@click.pass_obj
def command(home: Home, name: str, as_json: bool) -> None:
    """Say in one sentence why a job is where it is, and what happens next."""
    _engine, job, sentence = explained(home, name)
    if as_json:
        say.document({"name": name, "status": job.status.value, "explanation": sentence})
    else:
        say.line(sentence)


def explained(home: Home, name: str) -> tuple[Engine, Job, str]:
    """A job with its sentence, and the engine that has both."""
    engine = engine_with_types(home)
    job = engine.get(name)
    return engine, job, redact_text(explain(engine, job))


def engine_with_types(home: Home) -> Engine:
    """Limits that the code sets are part of an explanation; an application that is broken must not prevent one."""
    engine = home.engine()
    try:
        home.load_types()
    except JobEngineError as error:
        say.notice(f"Without the limits that the application sets: {error}")
    return engine
