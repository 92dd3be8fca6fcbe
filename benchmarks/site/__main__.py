"""`python -m benchmarks.site`, in the bench's own Python: measure, show, and fail when a requirement is missed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import report
from benchmarks.drain import WrongCount
from benchmarks.process import WorkerFailed
from benchmarks.report import Figure, Verdict
from benchmarks.rounds import Plan
from benchmarks.site import bench, drains, enqueueing, growth, pickup

FIGURES: dict[str, Callable[[Plan], Iterator[Figure]]] = {
    "drain": drains.measure,
    "enqueue": enqueueing.measure,
    "pickup": pickup.measure,
    "growth": growth.measure,
}
EXIT_MISSED, EXIT_UNMEASURED = 1, 3


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.site",
        description="Measure Job Engine beside plain frappe.enqueue, as ratios in one run on one bench.",
        epilog="Exit code: 0 all requirements hold, 1 one is missed, 3 none is missed but something was not measured.",
    )
    parser.add_argument("--only", default=",".join(FIGURES), help=f"of {','.join(FIGURES)}; all by default")
    parser.add_argument("--jobs", type=int, help="no-op jobs in a drain (default 20000; plain Frappe gets a fiftieth)")
    parser.add_argument("--rounds", type=int, help="interleaved rounds, whose median counts (default 3)")
    parser.add_argument("--history", type=int, help="finished jobs in the full table (default 1,000,000)")
    parser.add_argument("--quick", action="store_true", help="a short look; too rough to judge by")
    parser.add_argument("--keep", action="store_true", help=f"leave {bench.SITE} there: the next run starts sooner")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    names = options.only.split(",")
    if unknown := [name for name in names if name not in FIGURES]:
        raise SystemExit(f"{', '.join(unknown)}: choose from {', '.join(FIGURES)}")
    file = options.json and options.json.absolute()
    console = Console()
    plan = Plan(
        jobs=options.jobs or (5_000 if options.quick else 20_000),
        rounds=options.rounds or (1 if options.quick else 3),
        samples=24 if options.quick else 80,
        history=options.history or (50_000 if options.quick else 1_000_000),
        flood=0,
        console=console,
    )
    about = {**report.machine(), "jobs": plan.jobs, "rounds": plan.rounds, "history": plan.history}
    console.print(", ".join(f"{key} {value}" for key, value in about.items()))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each forked worker would compile Frappe again
    with bench.connected(Path(os.environ["JOB_ENGINE_SITE_BENCH"]), os.environ["JOB_ENGINE_SITE"], options.keep):
        figures = [figure for name in names for figure in measured(name, plan)]
    console.print()
    report.show(console, figures)
    if file:
        report.save(file, figures, about)
    verdicts = {figure.verdict for figure in figures}
    if Verdict.MISSED in verdicts:
        return EXIT_MISSED
    return EXIT_UNMEASURED if Verdict.UNMEASURED in verdicts else 0


def measured(name: str, plan: Plan) -> list[Figure]:
    """The figures of one name; what fails is a line of the result, and the others are measured all the same."""
    plan.console.rule(name, align="left")
    figures: list[Figure] = []
    try:
        for figure in FIGURES[name](plan):
            figures.append(figure)
            plan.console.print(f"  [dim]{figure.what}: {figure.measured} ({figure.verdict.value})[/]")
    except (WorkerFailed, WrongCount) as error:
        plan.console.print(f"[bold red]{error}[/]")
        figures.append(report.unmeasured(name, str(error).splitlines()[0]))
    return figures


if __name__ == "__main__":
    sys.exit(main())
