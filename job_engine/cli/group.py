"""The group that carries the verbs. A Frappe command attaches the same group with a home of its own:

@click.group("job-engine", cls=VerbGroup, without=("init", "work", "demo"))
@click.pass_context
def job_engine(ctx):
    ctx.obj = SiteHome(ctx.obj)
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import click

from job_engine.cli import say
from job_engine.core.error_text import printable
from job_engine.core.errors import JobEngineError, StoreUnavailable
from job_engine.core.redact import redact_text

SECTIONS = {
    "Jobs": ("enqueue", "list", "show", "explain", "history", "retry", "cancel"),
    "Workers": ("work", "dispatch", "tick", "rescue"),
    "Operating": ("metrics", "doctor", "types", "pause", "resume", "limit", "prune", "init"),
    "First steps": ("demo",),
}

DONE, NOT_SO, USAGE, UNAVAILABLE = 0, 1, 2, 3  # exit codes

EXIT_CODES = """\b
Exit codes:
  0  done
  1  it is not so or could not be done: no such job, a state that does not
     allow it, doctor found a problem
  2  wrong usage
  3  the database is unavailable"""

_BEFORE_THE_VERB = {"--db", "--app", "--setting", "--debug"}


class VerbGroup(click.Group):
    """Verbs are imported when they are used: `job-engine enqueue` need not wait for the others."""

    def __init__(self, *args: Any, without: Iterable[str] = (), **attributes: Any):
        super().__init__(*args, **attributes)
        self.epilog = self.epilog or EXIT_CODES
        self.sections = {
            title: tuple(verb for verb in verbs if verb not in tuple(without)) for title, verbs in SECTIONS.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verbs in self.sections.values() for verb in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"job_engine.cli.verbs.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in self.sections.items():
            commands = [(verb, self.get_command(ctx, verb)) for verb in verbs]
            rows = [(verb, command.get_short_help_str(60)) for verb, command in commands if command is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except click.NoSuchOption as error:
            if error.option_name not in _BEFORE_THE_VERB:
                raise
            raise click.UsageError(f"{error.option_name} stands before the verb.", error.ctx) from error
        except (click.ClickException, BrokenPipeError):
            raise  # click's own, and a reader who has seen enough: click knows what to do
        except JobEngineError as error:
            self._fail(ctx, str(error))
            ctx.exit(UNAVAILABLE if isinstance(error, StoreUnavailable) else NOT_SO)
        except Exception as error:
            self._fail(ctx, f"Unexpected {type(error).__name__}: {error}. With --debug you see where.")
            ctx.exit(NOT_SO)
        finally:
            close = getattr(ctx.obj, "close", None)
            if close is not None:
                close()

    def _fail(self, ctx: click.Context, sentence: str) -> None:
        if getattr(ctx.obj, "debug", False):
            print(printable(redact_text(traceback.format_exc())), file=sys.stderr)
        say.error(sentence)


def examples(*lines: str) -> str:
    """The end of a verb's help: commands to copy."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
