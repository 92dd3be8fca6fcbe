"""`doctor`: is everything as it should be?"""

from __future__ import annotations

from collections.abc import Sequence

import click

from job_engine.cli import say
from job_engine.cli.group import NOT_SO, examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option
from job_engine.doctor import Finding, Level


@click.command(
    "doctor",
    short_help="Check that everything is as it should be.",
    epilog=examples("job-engine --app shop.jobs doctor", "job-engine --app shop.jobs doctor --json"),
)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Check the database, its tables and clock, the application, the workers, and what waits or is stuck.

    Each line says what was found and what to do. The exit code is 1 when there is a problem; warnings alone leave it 0.
    Nothing is changed.
    """
    home: Home = ctx.obj
    findings = list(home.examine())
    problems = sum(finding.level is Level.PROBLEM for finding in findings)
    if as_json:
        say.document(
            {
                "healthy": not problems,
                "findings": [
                    {"check": f.check, "level": f.level.value, "says": f.says, "advice": f.advice} for f in findings
                ],
            }
        )
    else:
        _show(findings)
    ctx.exit(NOT_SO if problems else 0)


def _show(findings: Sequence[Finding]) -> None:
    columns = (say.Column("", whole=True), say.Column("CHECK", whole=True), say.Column("FOUND, AND WHAT TO DO"))
    rows = [(f.level, f.check, f.says if f.advice is None else f"{f.says}\n-> {f.advice}") for f in findings]
    say.table(columns, rows)
