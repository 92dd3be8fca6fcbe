"""Options and kinds of values that several verbs share.

Values are read by callbacks, not by click.ParamType: that class takes a type argument in newer versions and none in older.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import click

from job_engine.cli.times import parse_duration, parse_moment
from job_engine.core.states import Status

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document, for machines.")
by_option = click.option("--by", metavar="WHO", help="Who does this, for the history; by default your user name.")


def status_option(help: str) -> Callable[[Any], Any]:
    """`--status`, repeatable, in any spelling a shell likes: 'Dead Letter', dead-letter, dead_letter."""

    def read(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Status, ...]:
        return tuple(_status(value) for value in values)

    return click.option("--status", "statuses", metavar="STATUS", multiple=True, callback=read, help=help)


def read_duration(ctx: click.Context, param: click.Parameter, value: str | None) -> timedelta | None:
    return None if value is None else _said(parse_duration, value)


def read_moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | timedelta | None:
    return None if value is None else _said(parse_moment, value)


def _status(value: str) -> Status:
    wanted = re.sub(r"[-_\s]+", " ", value).strip().lower()
    for status in Status:
        if status.value.lower() == wanted:
            return status
    raise click.BadParameter(f"there is no state {value!r}. Choose from: {', '.join(Status)}.")


def _said(parse: Callable[[str], Any], value: str) -> Any:
    try:
        return parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
