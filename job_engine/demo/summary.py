"""The end of the demo: every count beside what was expected, and what to try next."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from job_engine.core.states import Status
from job_engine.demo.scenario import KILLED, Roll
from job_engine.demo.verdict import Count, Verdict
from job_engine.demo.workers import APP

_STATES = (Status.COMPLETED, Status.DEAD_LETTER, Status.CANCELED)
_MOST_BLAMED = 10  # lines for each wrong count


def show(console: Console, verdict: Verdict, seconds: float) -> None:
    console.print(_types(verdict))
    console.print(_checks(console, verdict))
    for count in _all(verdict):
        if not count.ok:
            console.print(Text(f"Wrong: {count.what}, {count.found} instead of {count.expected}", "bold red"))
            for line in count.blame[:_MOST_BLAMED]:
                console.print(Text(f"  {line}"))
    jobs = sum(one.jobs.found for one in verdict.types)
    if verdict.ok:
        console.print(Text(f"{jobs} jobs in {seconds:.0f} s, and every count is as expected.", "bold green"))


def _types(verdict: Verdict) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_footer=True, pad_edge=False)
    table.add_column("Job type", footer="all", no_wrap=True)
    columns = [("jobs", [one.jobs for one in verdict.types])]
    columns += [(str(status), [one.by_status[status] for one in verdict.types]) for status in _STATES]
    columns += [("attempts", [one.attempts for one in verdict.types])]
    for title, counts in columns:
        table.add_column(title, justify="right", footer=str(sum(count.found for count in counts)))
    for i, one in enumerate(verdict.types):
        table.add_row(one.job_type, *(_cell(counts[i]) for _, counts in columns))
    return table


def _cell(count: Count) -> Text:
    if count.expected != count.found:
        return Text(f"{count.found}, not {count.expected}", "bold red")
    if not count.ok:
        return Text(f"{count.found}, of others", "bold red")
    return Text(str(count.found), "" if count.found else "dim")


def _checks(console: Console, verdict: Verdict) -> Table:
    good, bad = ("✓", "✗") if console.encoding.startswith("utf") else ("ok", "WRONG")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Checked")
    table.add_column("expected", justify="right")
    table.add_column("found", justify="right")
    table.add_column("")
    for count in verdict.checks:
        mark = Text(good, "green") if count.ok else Text(bad, "bold red")
        table.add_row(count.what, str(count.expected), str(count.found), mark)
    return table


def _all(verdict: Verdict) -> list[Count]:
    of_types = [count for one in verdict.types for count in (one.jobs, *one.by_status.values(), one.attempts)]
    return [*of_types, *verdict.checks]


# What to try next


def show_next(console: Console, url: str, roll: Roll) -> None:
    def name_of(found: str) -> str:
        return next(name for name, planned in roll.items() if found in (planned.label, planned.job_type))

    dead, partner, killed = (name_of(one) for one in ("charge_card for order 502", "partner_sync", KILLED))
    program = _program()
    console.print(Text("\nTry next", "bold"))
    steps: Sequence[tuple[str, str]] = (
        ("", f"export JOB_ENGINE_DB={shlex.quote(url)}"),
        ("", f"export JOB_ENGINE_APP={APP}"),
        ("what needs a person, and why:", f"{program} list --status 'Dead Letter'"),
        ("", f"{program} explain {dead}"),
        ("the life of the job whose worker was killed:", f"{program} history {killed}"),
        ("the partner's API is back: run again what it broke (Ctrl-C ends it):", ""),
        ("", f"{program} retry {partner}"),
        ("", f"{program} work"),
        ("all numbers:", f"{program} metrics"),
    )
    for why, command in steps:
        if why:
            console.print(Text(f"  # {why}", "dim"), soft_wrap=True)
        if command:
            console.print(Text(f"  {command}", "cyan"), soft_wrap=True)


def _program() -> str:
    """How this installation's job-engine is called from here: a virtual environment need not be on the path."""
    beside = Path(sys.executable).with_name("job-engine")
    if not beside.exists() or shutil.which("job-engine") == str(beside):
        return "job-engine"
    return shlex.quote(min(os.path.relpath(beside), str(beside), key=len))
