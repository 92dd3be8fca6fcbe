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
from job_engine.core.states import Status

_COLUMNS = (
    say.Column("TIME (UTC)", whole=True),
    say.Column("STATUS", whole=True),
    say.Column("TRY", right=True, whole=True),
    say.Column("TOOK", right=True, whole=True),
    say.Column("WHAT HAPPENED"),
)


@click.command(
    "history",
    short_help="Show every change of state of a job.",
    epilog=examples("job-engine history 01kxyz...", "job-engine history 01kxyz... --json"),
)
@click.argument("name")
@json_option
@click.pass_obj
def command(home: Home, name: str, as_json: bool) -> None:
    """Show every change of state of a job, oldest first."""
    history = home.engine().history(name)
    if as_json:
        say.document({"name": name, "history": [transition_shape(transition) for transition in history]})
    else:
        say.table(
            _COLUMNS, [_row(transition, before) for transition, before in zip(history, [None, *history], strict=False)]
        )


def _row(transition: Transition, before: Transition | None) -> tuple[Any, ...]:
    return (
        f"{transition.at:%Y-%m-%d %H:%M:%S}",
        transition.to_status,
        transition.attempt or "",
        duration_text(transition.duration),
        _what(transition, before),
    )


def _what(transition: Transition, before: Transition | None) -> str:
    """In words, with whoever did it; the worker is named where it claims the job, not again where it ends the attempt."""
    by = f" by {transition.actor}" if transition.actor else ""
    if transition.from_status is None:
        return f"created{by}"
    if transition.to_status is Status.RUNNING:
        return f"claimed{by}"
    parts = [transition.reason if transition.reason != _raised(transition.error) else None, transition.error]
    if transition.processed is not None or transition.failed is not None:
        parts.append(f"{transition.processed or 0} processed, {transition.failed or 0} failed")
    if before is not None and transition.actor != before.actor:
        parts.append(by.strip())
    return "; ".join(redact_text(part) for part in parts if part)


def _raised(error: str | None) -> str:
    """What the engine gives as the reason of an ordinary failure. The error itself says it better."""
    return f"the handler raised {(error or '').partition(':')[0]}"
