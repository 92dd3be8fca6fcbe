"""What comes out: text for people on a terminal, plain columns in a pipe, JSON for machines.

Standard output has the answer and nothing else; everything beside it goes to standard error. rich is imported only for a
terminal: a script that calls a verb a thousand times does not wait for it.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from job_engine.core.error_text import printable
from job_engine.core.redact import redact_text

WIDE = 110  # columns of a terminal that has room for everything
SHORTEST = 8  # characters of a column that is cut

_COLORS = {
    "Pending": "blue",
    "Queued": "cyan",
    "Running": "magenta",
    "Completed": "green",
    "Failed": "yellow",
    "Timed Out": "yellow",
    "Dead Letter": "bold red",
    "Canceled": "dim",
    "ok": "green",
    "warning": "yellow",
    "problem": "bold red",
}


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    wide: bool = False  # left out where a terminal is narrow
    right: bool = False
    whole: bool = False  # never wrapped: somebody will copy it
    cut: bool = False  # may lose its end where a terminal is narrow, rather than be wrapped


def on_a_terminal() -> bool:
    return sys.stdout.isatty()


def document(value: Any) -> None:
    """One JSON document. ASCII, so that no locale can spoil it."""
    click.echo(json.dumps(value, indent=2))


def line(text: str = "") -> None:
    click.echo(printable(text))


def notice(text: str) -> None:
    """Beside the answer: it never disturbs whoever reads standard output."""
    click.echo(click.style(printable(redact_text(text)), dim=sys.stderr.isatty()), err=True)


def error(sentence: str) -> None:
    """On one line, whatever a driver has put into it."""
    text = printable(" ".join(redact_text(sentence).split()))
    click.echo(f"{click.style('Error:', fg='red', bold=True)} {text}", err=True)


def table(columns: Sequence[Column], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    texts = [[printable("" if cell is None else str(cell)) for cell in row] for row in rows]
    if title is not None:
        heading(title)
    if on_a_terminal():
        _rich_table(columns, texts)
    else:
        _plain_table(columns, texts)


def heading(text: str) -> None:
    click.echo(click.style(printable(text), bold=True))


def pairs(rows: Sequence[tuple[str, Any]]) -> None:
    """Names and values, one below the other; without a value, no line."""
    shown = [(name, printable(str(value))) for name, value in rows if value not in (None, "")]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        styled = _styled(value) if on_a_terminal() else value
        click.echo(f"{click.style(f'{name:<{width}}', dim=True)}  {styled}")


def _styled(value: str) -> str:
    color = _COLORS.get(value)
    if color is None:
        return value
    words = color.split()
    hue = words[-1] if words[-1] != "dim" else None
    return click.style(value, fg=hue, bold="bold" in words or None, dim="dim" in words or None)


def _rich_table(columns: Sequence[Column], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = shutil.get_terminal_size().columns
    shown = [i for i, column in enumerate(columns) if width >= WIDE or not column.wide]
    # A column in which nothing stands takes room away from the others.
    shown = [i for i in shown if any(row[i] for row in rows)]
    limits = _cuts({i: columns[i] for i in shown}, rows, width)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i in shown:
        column = columns[i]
        grid.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=column.whole or column.cut,
            overflow="ellipsis" if column.cut else "fold",
            max_width=limits.get(i),
        )
    for row in rows:
        grid.add_row(*(Text(row[i], style=_COLORS.get(row[i], "")) for i in shown))
    Console(file=sys.stdout, highlight=False).print(grid)


def _cuts(columns: Mapping[int, Column], rows: list[list[str]], width: int) -> dict[int, int]:
    """How wide the columns may be that can be cut: the last gives way first. rich alone would cut names as well."""
    needs = {i: max(len(column.title), *(len(row[i]) for row in rows)) for i, column in columns.items()}
    excess = sum(needs.values()) + 2 * len(needs) - width
    for i in reversed([i for i, column in columns.items() if column.cut]):
        given = max(0, min(excess, needs[i] - SHORTEST))
        needs[i] -= given
        excess -= given
    return {i: needs[i] for i, column in columns.items() if column.cut}


def _plain_table(columns: Sequence[Column], rows: list[list[str]]) -> None:
    """One line for each row, whatever its length; cut, awk and grep do the rest."""
    flat = [[" ".join(cell.split()) for cell in row] for row in rows]
    lines = [[column.title for column in columns], *flat]
    widths = [max(len(row[i]) for row in lines) for i in range(len(columns))]
    for row in lines:
        cells = [
            f"{cell:>{width}}" if column.right else f"{cell:<{width}}"
            for cell, width, column in zip(row, widths, columns, strict=True)
        ]
        click.echo("  ".join(cells).rstrip())
