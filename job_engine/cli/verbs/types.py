"""`types`: what can be enqueued, and how it is treated."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home, NoTables
from job_engine.cli.options import json_option
from job_engine.cli.policy import handler_text, limit_text, retry_text, type_shape
from job_engine.cli.times import duration_text
from job_engine.store.controls import Controls

_COLUMNS = (
    say.Column("TYPE", whole=True),
    say.Column("QUEUE"),
    say.Column("PRIORITY", wide=True, whole=True),
    say.Column("TIMEOUT", right=True, whole=True),
    say.Column("TRIES", right=True, whole=True),
    say.Column("WAITS"),
    say.Column("LIMIT"),
    say.Column("PAUSED"),
    say.Column("DEDUP", wide=True, right=True, whole=True),
    say.Column("HANDLER", wide=True),
)


@click.command(
    "types",
    short_help="List the registered job types and their policy.",
    epilog=examples("job-engine --app shop.jobs types", "job-engine --app shop.jobs types --json"),
)
@json_option
@click.pass_obj
def command(home: Home, as_json: bool) -> None:
    """List the registered job types with the policy in force: the code's, and what an operator has set."""
    home.load_types()
    registry = home.unopened_engine().registry
    controls = _controls(home)
    limits, pauses = controls.limits, controls.pauses
    if as_json:
        shapes = [type_shape(t, limits.get(("type", t.name)), ("type", t.name) in pauses) for t in registry]
        say.document({"types": shapes})
        return
    if not len(registry):
        named = f"{home.application()} registers none; name" if home.application() else "name"
        say.notice(f"No job types are registered: {named} the module that has your @job functions with --app.")
        return
    rows = [
        (
            t.name,
            t.queue,
            t.priority,
            duration_text(t.timeout) if t.timeout else "none",
            t.max_attempts,
            retry_text(t),
            limit_text(limits.get(("type", t.name))),
            "yes" if ("type", t.name) in pauses else "",
            duration_text(t.dedup_window) if t.dedup_window else "off",
            handler_text(t),
        )
        for t in registry
    ]
    say.table(_COLUMNS, rows)


def _controls(home: Home) -> Controls:
    try:
        return home.engine().store.controls()
    except NoTables:  # somebody looks around before the first job: the code's policy is all there is
        return Controls({}, home.unopened_engine().store.code_limits())
