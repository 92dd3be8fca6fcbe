"""`tick`: once, by hand or from cron."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option


@click.command(
    "tick",
    short_help="Queue what is due and rescue what is lost, once.",
    epilog=examples("job-engine tick", "* * * * * job-engine tick   # in a crontab"),
)
@json_option
@click.pass_obj
def command(home: Home, as_json: bool) -> None:
    """Do once what `dispatch` does all the time: queue what is due, rescue what lost its worker."""
    done = home.engine().tick()
    if as_json:
        say.document({"promoted": done.promoted, "rescued": done.rescued})
    else:
        say.line(f"{done.promoted} jobs were queued, {done.rescued} rescued.")
