"""`cancel`: stop jobs."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.each import each
from job_engine.cli.group import NOT_SO, examples
from job_engine.cli.home import Home
from job_engine.cli.options import by_option, json_option
from job_engine.cli.shapes import job_shape
from job_engine.core.job import Job
from job_engine.core.states import Status


@click.command(
    "cancel",
    short_help="Cancel jobs, and what depends on them.",
    epilog=examples(
        "job-engine cancel 01kxyz...",
        "job-engine cancel 01kxyz... 01kabc... --reason 'wrong month'",
        "job-engine list --type report --status queued --json | jq -r '.jobs[].name' | xargs job-engine cancel",
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks at the job later.")
@by_option
@json_option
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], reason: str | None, by: str | None, as_json: bool) -> None:
    """Cancel jobs, and with them what depends on them.

    A waiting job is canceled at once. A running one is asked to stop, and is killed when it does not listen. Jobs that
    cannot be canceled are named, and the exit code is 1.
    """
    home: Home = ctx.obj
    engine = home.engine()
    done = each(names, lambda name: engine.cancel(name, by or home.actor(), reason))
    if as_json:
        say.document({"jobs": [job_shape(job) for job in done.jobs], "errors": done.errors})
    else:
        for job in done.jobs:
            say.line(_sentence(job))
    ctx.exit(NOT_SO if done.errors else 0)


def _sentence(job: Job) -> str:
    if job.status is Status.CANCELED:
        return f"Job {job.name} is canceled."
    return f"Job {job.name} is {job.status}; its worker was asked to stop it."
