"""`prune`: forget what ended long ago."""

from __future__ import annotations

from datetime import timedelta

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option, read_duration, status_option
from job_engine.cli.progress import progress
from job_engine.cli.times import duration_text
from job_engine.core.states import ENDED, Status

_DAY = 86400.0


@click.command(
    "prune",
    short_help="Delete jobs that ended long ago.",
    epilog=examples(
        "job-engine prune --dry-run",
        "job-engine prune --older-than 7d --status completed",
        "job-engine prune --older-than 90d --status 'Dead Letter' --json",
    ),
)
@click.option(
    "--older-than",
    metavar="DURATION",
    callback=read_duration,
    help="Ended so long ago: 30d, 12h. By default the retention.",
)
@status_option("Completed, Canceled or 'Dead Letter'; repeatable; all three if none is named.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@json_option
@click.pass_obj
def command(
    home: Home, older_than: timedelta | None, statuses: tuple[Status, ...], dry_run: bool, as_json: bool
) -> None:
    """Delete ended jobs with their history, in small batches that nobody has to wait for.

    Jobs that have not ended are never deleted, nor is one that another still waits for.
    """
    for wanted in statuses:
        if wanted not in ENDED:
            raise click.UsageError(f"Jobs that are {wanted} have not ended: choose from {', '.join(sorted(ENDED))}.")
    engine = home.engine()
    days = engine.settings.retention_days if older_than is None else older_than.total_seconds() / _DAY
    statuses = statuses or tuple(sorted(ENDED))
    plan = engine.plan_prune(days, statuses)
    pruned = 0
    if not dry_run:
        with progress("Pruning", sum(plan.values())) as advance:
            pruned = engine.prune(days, statuses, advance)
    if as_json:
        say.document({"dry_run": dry_run, "older_than_seconds": days * _DAY, "matched": plan, "pruned": pruned})
        return
    age = duration_text(days * _DAY)
    if dry_run:
        found = ", ".join(f"{n} {state}" for state, n in plan.items())
        say.line(f"{sum(plan.values())} jobs that ended more than {age} ago would be forgotten ({found}).")
    else:
        say.line(f"{pruned} jobs that ended more than {age} ago were forgotten.")
