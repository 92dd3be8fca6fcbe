"""`demo`: see it work."""

from __future__ import annotations

import click


@click.command("demo", context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """See it work: some hundred jobs, failures, a killed worker.

    It brings a database and job types of its own, and has a --help of its own.
    """
    from job_engine.demo import main

    ctx.exit(main(arguments))
