"""`python -m benchmarks`: measure, show, and fail when a required ratio is missed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import report, servers
from benchmarks.drain import WrongCount
from benchmarks.figures import drains, enqueue, fairness, growth, pickup
from benchmarks.process import WorkerFailed
from benchmarks.report import Figure, Verdict
from benchmarks.rounds import Plan

FIGURES: dict[str, Callable[[Plan], Iterator[Figure]]] = {
    "sqlite": drains.sqlite,
    "postgresql": drains.postgresql,
    "mariadb": drains.mariadb,
    "growth": growth.measure,
    "pickup": pickup.measure,
    "fairness": fairness.measure,
    "enqueue": enqueue.measure,
}

EXIT_MISSED = 1
#: Nothing was missed, but something could not be measured: not a pass.
EXIT_UNMEASURED = 3


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Job Engine beside its peers, as ratios in one run on one machine.",
        epilog="Exit code: 0 all requirements hold, 1 one is missed, 3 none is missed but something was not measured.",
    )
    parser.add_argument("--only", type=_names, default=list(FIGURES), help=f"of {','.join(FIGURES)}; all by default")
    parser.add_argument("--jobs", type=int, help="no-op jobs in a drain (default 20000; slow peers get a share)")
    parser.add_argument("--rounds", type=int, help="interleaved rounds, whose median counts (default 3)")
    parser.add_argument(
        "--quick", action="store_true", help="a short look: fewer jobs, one round; too rough to judge by"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    return parser.parse_args(argv)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(FIGURES)}")
    return names


def plan_of(options: argparse.Namespace, console: Console) -> Plan:
    quick = options.quick
    return Plan(
        jobs=options.jobs or (4_000 if quick else 20_000),
        rounds=options.rounds or (1 if quick else 3),
        samples=30 if quick else 120,
        history=20_000 if quick else 200_000,
        flood=4_000 if quick else 20_000,
        console=console,
    )


def measured(name: str, plan: Plan) -> list[Figure]:
    """The figures of one name; what fails is a line of the result, and the others are measured all the same."""
    plan.console.rule(name, align="left")
    try:
        return list(FIGURES[name](plan))
    except (servers.ServerMissing, WorkerFailed, WrongCount, ImportError) as error:
        plan.console.print(f"[bold red]{error}[/]")
        return [report.unmeasured(name, str(error).splitlines()[0])]


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    console = Console()
    plan = plan_of(options, console)
    about = {**report.machine(), **servers.durability(), "jobs": plan.jobs, "rounds": plan.rounds}
    console.print(", ".join(f"{key} {value}" for key, value in about.items()))
    figures = [figure for name in options.only for figure in measured(name, plan)]
    console.print()
    report.show(console, figures)
    if options.json:
        report.save(options.json, figures, about)
    verdicts = {figure.verdict for figure in figures}
    if Verdict.MISSED in verdicts:
        return EXIT_MISSED
    return EXIT_UNMEASURED if Verdict.UNMEASURED in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
