"""What `pause` and `resume` are about: a type, a queue, an organization, or everything."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from job_engine.store.controls import SCOPES


def scope_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `SCOPE [TARGET]` and sees to it that both fit together."""

    @click.argument("scope", type=click.Choice(SCOPES))
    @click.argument("target", required=False, default="")
    @functools.wraps(command)
    def checked(*args: Any, scope: str, target: str, **options: Any) -> Any:
        if scope == "everything" and target:
            raise click.UsageError("'everything' has no target.")
        if scope != "everything" and not target:
            raise click.UsageError(f"Which {scope}? Write its name after the word {scope!r}.")
        return command(*args, scope=scope, target=target, **options)

    return checked


def called(scope: str, target: str) -> str:
    return f"{scope} {target}".strip()
