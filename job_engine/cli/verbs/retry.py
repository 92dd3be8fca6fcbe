"""`retry`: run again what ended, by name or by what it has in common."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import click

from job_engine.cli import say
from job_engine.cli.each import each
from job_engine.cli.group import NOT_SO, examples
from job_engine.cli.home import Home
from job_engine.cli.options import by_option, json_option, read_duration, status_option
from job_engine.cli.progress import progress
from job_engine.cli.shapes import job_shape
from job_engine.cli.times import duration_text
from job_engine.core.redact import redact_text
from job_engine.core.states import Status
from job_engine.engine import Engine
from job_engine.retrying import RetryPlan

SHOWN = 10  # lines of each table of the preview


@click.command(
    "retry",
    short_help="Run again what is in Dead Letter or was canceled.",
    epilog=examples(
        "job-engine retry 01kxyz...",
        "job-engine retry --status 'Dead Letter' --type send_invoice --dry-run",
        "job-engine retry --type send_invoice --error-contains ConnectionError --spread 10m --yes",
        "job-engine retry --status canceled --organization ACME",
    ),
)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@status_option("'Dead Letter', which is meant without it, or Canceled; repeatable.")
@click.option("--type", "job_type", metavar="TYPE")
@click.option("--organization", metavar="NAME")
@click.option("--queue", metavar="NAME")
@click.option("--error-contains", metavar="TEXT", help="What stands in the job's last error.")
@click.option(
    "--spread",
    metavar="DURATION",
    callback=read_duration,
    help="Start them evenly over this time, so that nothing is overrun.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be retried.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@by_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    names: tuple[str, ...],
    statuses: tuple[Status, ...],
    spread: timedelta | None,
    dry_run: bool,
    yes: bool,
    by: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Run jobs again that are in Dead Letter or were canceled, with all their attempts.

    Name them, or say which are meant: then a preview is shown and, on a terminal, you are asked. In a script add --yes.
    """
    home: Home = ctx.obj
    criteria = {word: value for word, value in {**given, "status": statuses}.items() if value}
    if names:
        if criteria or spread or dry_run:
            raise click.UsageError("Name jobs, or say which with options; not both.")
        _retry_named(ctx, home, names, by or home.actor(), as_json)
        return
    if not criteria:
        raise click.UsageError(
            "Which jobs? Name them, or say which: --status 'Dead Letter', --type, --error-contains ..."
        )
    engine = home.engine()
    plan = engine.plan_retry(**criteria)
    if not as_json:
        _preview(plan, spread)
    retried = 0
    if plan.total and not dry_run:
        if not yes:
            _ask(plan)
        retried = _retry_matching(engine, plan, criteria, by or home.actor(), spread)
        if not as_json:
            say.line(f"{retried} jobs were retried.")
    if as_json:
        say.document({"dry_run": dry_run, "retried": retried, "plan": _shape(plan)})


def _retry_named(ctx: click.Context, home: Home, names: tuple[str, ...], by: str, as_json: bool) -> None:
    engine = home.engine()
    done = each(names, lambda name: engine.retry(name, by))
    if as_json:
        say.document({"retried": len(done.jobs), "jobs": [job_shape(job) for job in done.jobs], "errors": done.errors})
    else:
        for job in done.jobs:
            say.line(f"Job {job.name} will run again; it is {job.status}.")
    ctx.exit(NOT_SO if done.errors else 0)


def _ask(plan: RetryPlan) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("Nobody can be asked here: add --yes to retry them, or --dry-run to look.")
    click.confirm(f"Retry {plan.total} jobs?", abort=True, err=True)


def _retry_matching(
    engine: Engine, plan: RetryPlan, criteria: dict[str, Any], by: str, spread: timedelta | None
) -> int:
    seconds = spread.total_seconds() if spread else 0.0
    with progress("Retrying", plan.total) as advance:
        return engine.retry_many(by, seconds, advance, **criteria)


def _preview(plan: RetryPlan, spread: timedelta | None) -> None:
    if not plan.total:
        say.line("No job that could be retried matches.")
        return
    over = f", spread over {duration_text(spread.total_seconds())}" if spread else ""
    say.heading(f"{plan.total} jobs match{over}:")
    for title, counts in (("TYPE", plan.by_type), ("ORGANIZATION", plan.by_organization), ("ERROR", plan.by_error)):
        if any(counts):
            _counts(title, counts)
    say.line()


def _counts(title: str, counts: dict[str, int]) -> None:
    say.line()
    rows = [(n, _first_line(redact_text(value)) or "(none)") for value, n in counts.items()]
    say.table((say.Column("JOBS", right=True), say.Column(title)), rows[:SHOWN])
    if len(rows) > SHOWN:
        say.line(f"... and {len(rows) - SHOWN} more")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _shape(plan: RetryPlan) -> dict[str, Any]:
    by_error: dict[str, int] = {}
    for error, n in plan.by_error.items():
        by_error[redact_text(error)] = by_error.get(redact_text(error), 0) + n
    return {**asdict(plan), "by_error": by_error}
