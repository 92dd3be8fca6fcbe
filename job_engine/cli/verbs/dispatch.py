"""`dispatch`: the tick as a process of its own."""

from __future__ import annotations

import signal
import threading

import click

from job_engine.cli.dispatching import dispatch
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.log_options import log_options
from job_engine.logs import configure


@click.command(
    "dispatch",
    short_help="Tick until SIGTERM or Ctrl-C, as a process of its own.",
    epilog=examples("job-engine dispatch", "job-engine dispatch --every 0.1 --log-format json"),
)
@click.option(
    "--every",
    type=click.FloatRange(min=0.01),
    default=0.2,
    show_default=True,
    metavar="SECONDS",
    help="The pause between two ticks.",
)
@log_options
@click.pass_obj
def command(home: Home, every: float, log_format: str, log_level: str) -> None:
    """Tick until SIGTERM or Ctrl-C: queue what is due, rescue what lost its worker, forget what is old.

    `work` does this itself. A process of its own makes schedules precise to a fraction of a second, and keeps the tick
    going where workers are run by something else. Any number may run at once.
    """
    configure(log_format, log_level)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    dispatch(lambda: home.engine(create=True), every, stopping)
