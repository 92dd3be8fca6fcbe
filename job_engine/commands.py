"""`bench --site S job-engine VERB`. bench imports this at every command of its own: nothing is loaded before it is used."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from job_engine.cli.group import VerbGroup

_STANDALONE = ("job-engine --app shop.jobs ", "job-engine ")


class SiteGroup(VerbGroup):
    """The verbs of both homes, and `seed`. `init` is install-app here, and the demo needs no site."""

    def __init__(self, *args: Any, **attributes: Any):
        super().__init__(*args, **attributes)
        self.sections["First steps"] = ("seed",)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.epilog:
            command.epilog = _as_on_a_bench(command.epilog)
        return command


def _as_on_a_bench(examples: str) -> str:
    for start in _STANDALONE:
        examples = examples.replace(start, "\0")
    return examples.replace("\0", "bench --site SITE job-engine ")


@click.group("job-engine", cls=SiteGroup, without=("init", "demo"), context_settings={"max_content_width": 100})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def verbs(ctx: click.Context, debug: bool) -> None:
    """The site's durable background jobs: enqueue, look, retry, cancel, pause, and run them without RQ."""
    from job_engine.logs import configure
    from job_engine.site.home import SiteHome

    configure("console", "WARNING")
    ctx.obj = SiteHome(ctx.obj["sites"], debug)


def _is_a_worker() -> bool:
    return any(word in ("worker", "worker-pool") for word in sys.argv[1:4])


if _is_a_worker():  # each of its jobs runs in a fork of this process: what is loaded here, no fork loads again
    import_module("job_engine.site.preload")

commands = [verbs]
