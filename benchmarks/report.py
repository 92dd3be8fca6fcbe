"""Figures, their requirements, and the tables that show them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table


class Verdict(str, Enum):
    OK = "ok"
    MISSED = "too slow"
    NONE = "no requirement"
    UNMEASURED = "NOT MEASURED"


_STYLES = {Verdict.OK: "green", Verdict.MISSED: "bold red", Verdict.NONE: "dim", Verdict.UNMEASURED: "bold yellow"}


@dataclass(frozen=True)
class Figure:
    """One line of the result."""

    group: str
    what: str
    verdict: Verdict
    ours: str = ""
    compared_with: str = ""
    measured: str = ""
    required: str = ""
    #: The single rounds, so that a reader sees how much they differ.
    rounds: str = ""
    #: The number that the requirement is about.
    value: float | None = None
    bound: float | None = None


def ratio(
    group: str,
    what: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    compared_with: str,
    at_least: float | None = None,
) -> Figure:
    """Rates of interleaved rounds, ours beside theirs: the median of the rounds' ratios counts."""
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    value = median(ratios)
    return Figure(
        group,
        what,
        _verdict(at_least is None or value >= at_least, at_least),
        ours=f"{median(ours):,.0f}/s",
        compared_with=f"{median(theirs):,.0f}/s  {compared_with}",
        measured=f"{value:,.2f}x",
        required="" if at_least is None else f"at least {at_least:g}x",
        rounds=", ".join(f"{one:,.2f}x" for one in ratios),
        value=value,
        bound=at_least,
    )


def at_least(group: str, what: str, values: Sequence[float], unit: str, bound: float | None = None) -> Figure:
    value = median(values)
    return Figure(
        group,
        what,
        _verdict(bound is None or value >= bound, bound),
        measured=f"{value:,.0f}{unit}",
        required="" if bound is None else f"at least {bound:,g}{unit}",
        rounds=", ".join(f"{one:,.0f}" for one in values),
        value=value,
        bound=bound,
    )


def at_most(group: str, what: str, value: float, unit: str, bound: float | None = None, rounds: str = "") -> Figure:
    return Figure(
        group,
        what,
        _verdict(bound is None or value <= bound, bound),
        measured=f"{value:,.1f}{unit}",
        required="" if bound is None else f"at most {bound:g}{unit}",
        rounds=rounds,
        value=value,
        bound=bound,
    )


def unmeasured(group: str, reason: str) -> Figure:
    return Figure(group, reason, Verdict.UNMEASURED)


def _verdict(holds: bool, bound: float | None) -> Verdict:
    if bound is None:
        return Verdict.NONE
    return Verdict.OK if holds else Verdict.MISSED


_COLUMNS: dict[str, Callable[[Figure], str]] = {
    "what": lambda figure: figure.what,
    "Job Engine": lambda figure: figure.ours,
    "compared with": lambda figure: figure.compared_with,
    "measured": lambda figure: figure.measured,
    "required": lambda figure: figure.required,
    "verdict": lambda figure: f"[{_STYLES[figure.verdict]}]{figure.verdict.value}[/]",
    "rounds": lambda figure: figure.rounds,
}


def show(console: Console, figures: Sequence[Figure]) -> None:
    """One table for each group, in the order in which they were measured, without columns that say nothing."""
    for group in dict.fromkeys(figure.group for figure in figures):
        mine = [figure for figure in figures if figure.group == group]
        columns = {title: text for title, text in _COLUMNS.items() if any(text(figure) for figure in mine)}
        table = Table(*columns, title=group, title_justify="left", title_style="bold")
        for figure in mine:
            table.add_row(*(text(figure) for text in columns.values()))
        console.print(table)


def save(file: Path, figures: Sequence[Figure], about: dict[str, object]) -> None:
    file.write_text(json.dumps({"about": about, "figures": [asdict(figure) for figure in figures]}, indent=2) + "\n")


def machine() -> dict[str, object]:
    """What the figures depend on, besides the code."""
    return {"python": platform.python_version(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
