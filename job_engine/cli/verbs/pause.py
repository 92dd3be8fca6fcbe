"""`pause`: let nothing of a kind be claimed."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import by_option, json_option
from job_engine.cli.scope import called, scope_arguments
from job_engine.core.states import Status
from job_engine.engine import Engine

_CRITERION = {"type": "job_type", "queue": "queue", "organization": "organization"}


@click.command(
    "pause",
    short_help="Start no more jobs of a type, queue, organization.",
    epilog=examples(
        "job-engine pause type send_invoice --reason 'mail server down until 18:00'",
        "job-engine pause queue bulk",
        "job-engine pause organization ACME",
        "job-engine pause everything --reason upgrade",
    ),
)
@scope_arguments
@click.option("--reason", metavar="TEXT", help="Why, for whoever asks where the jobs are.")
@by_option
@json_option
@click.pass_obj
def command(home: Home, scope: str, target: str, reason: str | None, by: str | None, as_json: bool) -> None:
    """Let no job of a type, a queue, an organization, or of everything, be started until it is resumed.

    What runs already goes on; what is enqueued meanwhile waits.
    """
    engine = home.engine()
    engine.pause(scope, target, by or home.actor(), reason)
    waiting = _waiting(engine, scope, target)
    if as_json:
        say.document({"scope": scope, "target": target or None, "paused": True, "queued_jobs": waiting})
    else:
        say.line(f"Paused {called(scope, target)}; {waiting} queued jobs wait.")


def _waiting(engine: Engine, scope: str, target: str) -> int:
    """Zero tells whoever mistyped a name."""
    criteria = {_CRITERION[scope]: target} if scope in _CRITERION else {}
    return engine.count(status=Status.QUEUED, **criteria)
