"""`work`: be the workers."""

from __future__ import annotations

import os

import click

from job_engine.cli.group import examples
from job_engine.cli.home import Home, WorkOrders
from job_engine.cli.log_options import log_options
from job_engine.core.job_type import check_name
from job_engine.logs import configure


def cpus() -> int:
    """Those that this process may use: a container's share, where the system tells."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@click.command(
    "work",
    short_help="Run jobs until SIGTERM or Ctrl-C.",
    epilog=examples(
        "job-engine --app shop.jobs work",
        "job-engine --app shop.jobs work --processes 4 --queues default,mail",
        "job-engine --app shop.jobs work --log-format json",
        "job-engine --app shop.jobs --setting grace_seconds=30 work",
    ),
)
@click.option("--processes", type=click.IntRange(min=1), metavar="N", help="By default as many as there are CPUs.")
@click.option("--queues", metavar="A,B", help="Only these queues; by default all.")
@click.option(
    "--poll",
    type=click.FloatRange(min=0.01),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Look for jobs at least so often.",
)
@log_options
@click.pass_obj
def command(
    home: Home, processes: int | None, queues: str | None, poll: float, log_format: str, log_level: str
) -> None:
    """Run jobs, in several processes that are watched and replaced, until SIGTERM or Ctrl-C.

    The first signal lets each worker finish the job at hand within the grace period and gives back the others; a second
    one stops at once. A database that goes away is waited for. Logs go to standard error.
    """
    configure(log_format, log_level)
    names = None if queues is None else tuple(check_name("queue", name.strip()) for name in queues.split(","))
    home.work(WorkOrders(processes or cpus(), names, poll, log_format, log_level))
