"""`job-engine`: the verbs in their standalone home."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import Any

import click

from job_engine import __version__
from job_engine.cli.group import VerbGroup
from job_engine.cli.standalone import StandaloneHome
from job_engine.settings import Settings

_NUMBERS = {field.name: type(field.default) for field in fields(Settings)}


class SettingParam(click.ParamType):
    name = "NAME=NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        name, _, text = str(value).partition("=")
        if name not in _NUMBERS:
            self.fail(f"there is no setting {name!r}. Choose from: {', '.join(_NUMBERS)}.", param, ctx)
        try:
            return name, _NUMBERS[name](text)
        except ValueError:
            self.fail(f"{text!r} is not a number that {name} can have.", param, ctx)


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
    type=SettingParam(),
    multiple=True,
    help="A number of the engine, such as lease_seconds=120; repeatable.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, prog_name="job-engine", message="%(prog)s %(version)s")
@click.pass_context
def program(
    ctx: click.Context, url: str | None, app: str | None, settings: tuple[tuple[str, Any], ...], debug: bool
) -> None:
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
    ctx.obj = StandaloneHome(url or None, app or None, Settings(**dict(settings)), debug)
