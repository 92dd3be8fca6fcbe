"""`resume`: undo a pause."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import NOT_SO, examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option
from job_engine.cli.scope import called, scope_arguments


@click.command(
    "resume",
    short_help="Undo a pause.",
    epilog=examples("job-engine resume type send_invoice", "job-engine resume everything"),
)
@scope_arguments
@json_option
@click.pass_context
def command(ctx: click.Context, scope: str, target: str, as_json: bool) -> None:
    """Let jobs be started again. The exit code is 1 when nothing of that name was paused."""
    home: Home = ctx.obj
    engine = home.engine()
    resumed = engine.resume(scope, target)
    if as_json:
        say.document({"scope": scope, "target": target or None, "resumed": resumed})
    elif resumed:
        say.line(f"Resumed {called(scope, target)}.")
    if not resumed:
        paused = ", ".join(called(*key) for key in engine.store.controls().pauses)
        say.error(f"{called(scope.capitalize(), target)} is not paused. Paused: {paused or 'nothing'}.")
        ctx.exit(NOT_SO)
