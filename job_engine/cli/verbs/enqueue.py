"""`enqueue`: make one job, or one for each line of a file."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any, TextIO

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option, read_moment
from job_engine.cli.progress import progress
from job_engine.cli.shapes import job_shape
from job_engine.core import canonical
from job_engine.core.errors import InvalidParams, UnknownJobType
from job_engine.core.job import Job
from job_engine.core.priority import PRIORITIES
from job_engine.core.registry import Registry
from job_engine.engine import Engine

CHUNK = 1000  # jobs in one transaction


@click.command(
    "enqueue",
    short_help="Make a job, or one for each line of a file.",
    epilog=examples(
        """job-engine --app shop.jobs enqueue send_invoice '{"order": 42}'""",
        """job-engine --app shop.jobs enqueue report --run-after +10m --priority High""",
        """job-engine --app shop.jobs enqueue send_invoice '{"order": 42}' --dedup-key invoice:42""",
        """job-engine --app shop.jobs enqueue send_invoice --from-file orders.jsonl""",
        """generate-orders | job-engine --app shop.jobs enqueue send_invoice --from-file -""",
    ),
)
@click.argument("job_type", metavar="TYPE")
@click.argument("params", required=False)
@click.option(
    "--from-file", type=click.File("r", encoding="utf-8"), help="One JSON object a line, one job each; - is stdin."
)
@click.option("--organization", metavar="NAME", help="Whose job it is.")
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="By default the type's.")
@click.option("--queue", metavar="NAME", help="By default the type's.")
@click.option(
    "--run-after",
    metavar="TIME",
    callback=read_moment,
    help="Not before: +10m, 90s, 2h, or an ISO time (UTC without a zone).",
)
@click.option("--dedup-key", metavar="KEY", help="There is never a second job with this key.")
@click.option("--depends-on", metavar="JOB", multiple=True, help="Wait until this job has completed; repeatable.")
@click.option("--timeout", type=click.IntRange(min=0), metavar="SECONDS", help="0 is none; by default the type's.")
@click.option("--max-attempts", type=click.IntRange(min=1), metavar="N", help="By default the type's.")
@click.option("--user", metavar="NAME", help="On whose behalf the handler runs.")
@json_option
@click.pass_obj
def command(
    home: Home, /, job_type: str, params: str | None, from_file: TextIO | None, as_json: bool, **given: Any
) -> None:
    """Make a job of a registered TYPE with PARAMS, a JSON object.

    If the same job is there already (same dedup key, or the same parameters within the type's dedup window), it is
    reported and no second one is made. That is a success too: the exit code is 0.
    """
    options = {name: value for name, value in given.items() if value not in (None, ())}
    if from_file is not None and params is not None:
        raise click.UsageError("Give PARAMS or --from-file, not both.")
    if from_file is not None and "dedup_key" in options:
        raise click.UsageError("A file of jobs cannot share one --dedup-key: only its first line would be enqueued.")
    # Everything is checked before the database is touched: a mistake leaves nothing behind.
    home.load_types()
    engine = home.unopened_engine()
    _check_registered(engine.registry, job_type, home.application())
    if from_file is None:
        parsed = _object(params)
        answer = home.engine(create=True).enqueue(job_type, parsed, **options)
        _report_one(answer, as_json)
    else:
        lines = _lines(from_file, engine.settings.payload_bytes)
        _report_many(_enqueue_lines(home.engine(create=True), job_type, lines, options), as_json)


def _check_registered(registry: Registry, job_type: str, application: str | None) -> None:
    """A dotted path would let whoever reaches a command line call any function there is: only types can be named."""
    if registry.get(job_type) is not None:
        return
    known = [known.name for known in registry]
    close = difflib.get_close_matches(job_type, known, 1)
    if not known:
        advice = (
            f"{application} registers none: do its functions have @job(...)?"
            if application
            else "None is known: name the module that has your @job functions with --app or JOB_ENGINE_APP."
        )
    else:
        advice = f"Did you mean {close[0]!r}?" if close else f"Registered: {', '.join(known)}."
    path = " and a dotted path is never called from here" if "." in job_type else ""
    raise UnknownJobType(f"No job type is called {job_type!r}{path}. {advice}", job_type=job_type)


def _object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{error}. Write a JSON object in single quotes: '{{\"order\": 42}}'.", param_hint="'PARAMS'"
        ) from error
    if not isinstance(value, dict):
        raise click.BadParameter(
            f"expected a JSON object, got {text[:60]}. Write '{{\"name\": value}}'.", param_hint="'PARAMS'"
        )
    return value


# Many ----------------------------------------------------------------------------------------------------------------


def _lines(lines: Iterable[str], limit: int) -> list[dict[str, Any]]:
    return [_line(number, text, limit) for number, text in enumerate(lines, 1) if text.strip()]


def _enqueue_lines(engine: Engine, job_type: str, params: list[dict[str, Any]], options: dict[str, Any]) -> list[Job]:
    answers: list[Job] = []
    with progress("Enqueueing", len(params)) as advance:
        for start in range(0, len(params), CHUNK):
            chunk = params[start : start + CHUNK]
            answers += engine.enqueue_many(job_type, chunk, **options)
            advance(len(chunk))
    return answers


def _line(number: int, text: str, limit: int) -> dict[str, Any]:
    try:
        value = json.loads(text)
        canonical.encode(value, f"line {number}", limit)
    except ValueError as error:
        raise InvalidParams(f"line {number}: {error}. Nothing was enqueued.") from error
    except InvalidParams as error:
        raise InvalidParams(f"{error} Nothing was enqueued.") from error
    assert isinstance(value, dict)
    return value


# Reports -------------------------------------------------------------------------------------------------------------


def _report_one(job: Job, as_json: bool) -> None:
    if as_json:
        say.document({"created": job.created, "job": job_shape(job)})
    elif job.created:
        say.line(f"Job {job.name} ({job.job_type}) was created and is {job.status}.")
    else:
        say.line(f"Job {job.name} ({job.job_type}) was there already and is {job.status}; no second one was made.")


def _report_many(jobs: list[Job], as_json: bool) -> None:
    created = sum(bool(job.created) for job in jobs)
    if as_json:
        listed = [{"name": job.name, "status": job.status.value, "created": job.created} for job in jobs]
        say.document({"created": created, "existing": len(jobs) - created, "jobs": listed})
        return
    there = f"; {len(jobs) - created} were there already" if created < len(jobs) else ""
    say.line(f"{created} jobs were created{there}.")
