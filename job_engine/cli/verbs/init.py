"""`init`: create the tables."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option
from job_engine.store import schema


@click.command(
    "init",
    short_help="Create the tables.",
    epilog=examples(
        "job-engine init",
        "JOB_ENGINE_DB=postgresql://user:password@host/database job-engine init",
    ),
)
@json_option
@click.pass_obj
def command(home: Home, as_json: bool) -> None:
    """Create the tables, or bring them up to date. Safe to repeat; `enqueue` and `work` do it too."""
    home.engine(create=True)
    if as_json:
        say.document({"database": home.address(), "schema_version": schema.VERSION})
    else:
        say.line(f"{home.address()} is ready (tables of version {schema.VERSION}).")
