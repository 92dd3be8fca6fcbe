"""Options and kinds of arguments that several verbs share."""

from __future__ import annotations

import re
from typing import Any

import click

from job_engine.cli.times import parse_duration, parse_moment
from job_engine.core.states import Status

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document, for machines.")
by_option = click.option("--by", metavar="WHO", help="Who does this, for the history; by default your user name.")


class StatusParam(click.ParamType):
    """A state in any spelling a shell likes: 'Dead Letter', dead-letter, dead_letter."""

    name = "status"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Status:
        wanted = re.sub(r"[-_\s]+", " ", str(value)).strip().lower()
        for status in Status:
            if status.value.lower() == wanted:
                return status
        self.fail(f"there is no state {value!r}. Choose from: {', '.join(Status)}.", param, ctx)


class DurationParam(click.ParamType):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class MomentParam(click.ParamType):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return parse_moment(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
