"""`job-engine`: the verbs in their standalone home."""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from typing import Any

import click

from job_engine import __version__
from job_engine.cli.group import VerbGroup
from job_engine.cli.standalone import StandaloneHome
from job_engine.settings import Settings


def read_settings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Settings:
    """`NAME=NUMBER`, each a field of Settings."""
    kinds: dict[str, type] = {field.name: type(field.default) for field in fields(Settings)}
    chosen: dict[str, Any] = {}
    for value in values:
        name, _, text = value.partition("=")
        if name not in kinds:
            raise click.BadParameter(f"there is no setting {name!r}. Choose from: {', '.join(kinds)}.")
        try:
            chosen[name] = kinds[name](text)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not a number that {name} can have.") from None
    return Settings(**chosen)


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--db", "url", envvar="JOB_ENGINE_DB", metavar="URL", help="The database, also as JOB_ENGINE_DB.")
@click.option(
    "--app",
    envvar="JOB_ENGINE_APP",
    metavar="MODULE",
    help="The module with your @job functions, also as JOB_ENGINE_APP; several with commas between.",
)
@click.option(
    "--setting",
    "settings",
    metavar="NAME=NUMBER",
    multiple=True,
    callback=read_settings,
    help="A number of the engine, such as lease_seconds=120; repeatable.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, prog_name="job-engine", message="%(prog)s %(version)s")
@click.pass_context
def program(ctx: click.Context, url: str | None, app: str | None, settings: Settings, debug: bool) -> None:
    """Durable background jobs in your own database.

    \b
    The database is a URL:
      sqlite:///jobs.db                        a file in this folder (the default)
      sqlite:////var/lib/app/jobs.db           a file elsewhere
      postgresql://user:password@host/database
      mariadb://user:password@host/database
    Put a URL with a password into JOB_ENGINE_DB: everybody on the machine can
    read the arguments of a command.

    \b
    Examples:
      job-engine demo
      job-engine --app shop.jobs enqueue send_invoice '{"order": 42}'
      job-engine --app shop.jobs work --processes 4
      job-engine list --status 'Dead Letter'
      job-engine enqueue --help
    """
    from job_engine.logs import configure

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that knows no Unicode gets \xe4, not a crash
            stream.reconfigure(errors="backslashreplace")
    configure("console", "WARNING")
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    ctx.obj = StandaloneHome(url or None, app or None, settings, debug)
