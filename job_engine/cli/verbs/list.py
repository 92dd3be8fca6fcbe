"""`list`: jobs in a table, the newest first."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option, status_option
from job_engine.cli.shapes import job_shape
from job_engine.cli.times import age_text, time_text
from job_engine.core.job import Job
from job_engine.core.states import Status

_COLUMNS = (
    say.Column("NAME", whole=True),
    say.Column("TYPE", cut=True),
    say.Column("STATUS", whole=True),
    say.Column("TRIES", right=True, whole=True),
    say.Column("AGE", right=True, whole=True),
    say.Column("ORGANIZATION", cut=True),
    say.Column("PRIORITY", wide=True, whole=True),
    say.Column("QUEUE", wide=True),
    say.Column("CREATED", wide=True, whole=True),
)


@click.command(
    "list",
    short_help="List jobs, the newest first.",
    epilog=examples(
        "job-engine list",
        "job-engine list --status 'Dead Letter' --type send_invoice",
        "job-engine list --status failed --status timed-out --organization ACME",
        "job-engine list --limit 1000 --json | jq -r '.jobs[].name'",
    ),
)
@status_option("Repeatable.")
@click.option("--type", "job_type", metavar="TYPE")
@click.option("--organization", metavar="NAME")
@click.option("--queue", metavar="NAME")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@click.option("--after", metavar="JOB", help="Go on below this job: the last one of the page before.")
@json_option
@click.pass_obj
def command(
    home: Home, /, statuses: tuple[Status, ...], limit: int, after: str | None, as_json: bool, **criteria: Any
) -> None:
    """List jobs, the newest first."""
    engine = home.engine()
    jobs = engine.find(limit + 1, after, status=statuses or None, **criteria)  # one more: is there a next page?
    more = len(jobs) > limit
    jobs = jobs[:limit]
    following = jobs[-1].name if more else None
    if as_json:
        say.document({"jobs": [job_shape(job) for job in jobs], "next_after": following})
        return
    if not jobs:
        say.notice("No job matches." if any(criteria.values()) or statuses or after else "There are no jobs yet.")
        return
    now = engine.store.now()
    say.table(_COLUMNS, [_row(job, now) for job in jobs])
    if following is not None:
        say.notice(f"There are more: add --after {following}, or a larger --limit.")


def _row(job: Job, now: datetime) -> tuple[Any, ...]:
    return (
        job.name,
        job.job_type,
        job.status,
        f"{job.attempts}/{job.max_attempts}",
        age_text((now - job.creation).total_seconds()),
        job.organization,
        job.priority,
        job.queue,
        time_text(job.creation),
    )
