"""`history`: every change of state of one job."""

from __future__ import annotations

from typing import Any

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option
from job_engine.cli.shapes import transition_shape
from job_engine.cli.times import duration_text
from job_engine.core.job import Transition
from job_engine.core.redact import redact_text

_COLUMNS = (
    say.Column("TIME (UTC)", whole=True),
    say.Column("STATUS", whole=True),
    say.Column("TRY", right=True, whole=True),
    say.Column("TOOK", right=True, whole=True),
    say.Column("BY"),
    say.Column("WHAT HAPPENED"),
)


@click.command("history", epilog=examples("job-engine history 01kxyz...", "job-engine history 01kxyz... --json"))
@click.argument("name")
@json_option
@click.pass_obj
def command(home: Home, name: str, as_json: bool) -> None:
    """Show every change of state of a job, oldest first."""
    history = home.engine().history(name)
    if as_json:
        say.document({"name": name, "history": [transition_shape(transition) for transition in history]})
    else:
        say.table(_COLUMNS, [_row(transition) for transition in history])


def _row(transition: Transition) -> tuple[Any, ...]:
    return (
        f"{transition.at:%Y-%m-%d %H:%M:%S}",
        transition.to_status,
        transition.attempt or "",
        duration_text(transition.duration),
        transition.actor,
        _what(transition),
    )


def _what(transition: Transition) -> str:
    if transition.from_status is None:
        return "created"
    parts = [redact_text(part) for part in (transition.reason, transition.error) if part]
    if transition.processed is not None or transition.failed is not None:
        parts.append(f"{transition.processed or 0} processed, {transition.failed or 0} failed")
    return "; ".join(parts)
