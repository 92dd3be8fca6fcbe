"""`rescue`: take back what vanished workers held."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option


@click.command(
    "rescue", short_help="Take back the jobs of vanished workers, once.", epilog=examples("job-engine rescue")
)
@json_option
@click.pass_obj
def command(home: Home, as_json: bool) -> None:
    """Take back the jobs whose lease has expired: their worker is gone.

    They are queued again, or go to Dead Letter when they have used up their attempts. The tick does this all the time.
    """
    rescued = home.engine().rescue()
    if as_json:
        say.document({"rescued": rescued})
    else:
        say.line(f"{rescued} jobs were rescued.")
