"""`limit`: how many at once, how many in a time."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option
from job_engine.cli.policy import limit_shape, limit_text
from job_engine.cli.verbs.explain import engine_with_types
from job_engine.core.errors import InvalidJob
from job_engine.core.job_type import Rate


@click.command(
    "limit",
    short_help="Limit a type or an organization.",
    epilog=examples(
        "job-engine limit type send_invoice                  # show it",
        "job-engine limit type send_invoice --concurrency 2 --rate 100/m",
        "job-engine limit organization ACME --concurrency 5",
        "job-engine limit type send_invoice --none",
    ),
)
@click.argument("scope", type=click.Choice(("type", "organization")))
@click.argument("target")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="At most so many at once.")
@click.option("--rate", metavar="RATE", help="At most so many starts in a time: 100/m, 5/s, 10/30s.")
@click.option("--none", is_flag=True, help="Take the limit back; what the code says applies again.")
@json_option
@click.pass_obj
def command(
    home: Home, scope: str, target: str, concurrency: int | None, rate: str | None, none: bool, as_json: bool
) -> None:
    """Limit how many jobs of a type or an organization run at once or start in a time, over all workers.

    It replaces the whole limit that was set here before: name both numbers if you want both. Without options the
    limit in force is shown.
    """
    if none and (concurrency is not None or rate is not None):
        raise click.UsageError("--none takes the limit back; it goes with neither --concurrency nor --rate.")
    try:
        parsed = Rate.parse(rate)
    except InvalidJob as error:
        raise click.BadParameter(str(error), param_hint="'--rate'") from error
    engine = engine_with_types(home)
    if none or concurrency is not None or parsed is not None:
        engine.limit(scope, target, concurrency, parsed)
    limit = engine.store.controls().limits.get((scope, target))
    if as_json:
        say.document({"scope": scope, "target": target, **limit_shape(limit)})
    else:
        say.line(f"{scope.capitalize()} {target}: {limit_text(limit) or 'no limit'}.")
