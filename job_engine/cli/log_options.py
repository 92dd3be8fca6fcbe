"""How long-running verbs log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from job_engine.logs import FORMATS


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--log-level",
            type=click.Choice(("DEBUG", "INFO", "WARNING", "ERROR"), case_sensitive=False),
            default="INFO",
            show_default=True,
        ),
        click.option("--log-format", type=click.Choice(FORMATS), default="console", show_default=True),
    ):
        command = option(command)
    return command
