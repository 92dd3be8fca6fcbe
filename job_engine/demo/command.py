"""The demo from beginning to end."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

import click
from rich.console import Console

from job_engine.core.errors import JobEngineError
from job_engine.demo import database, effects, facts, scenario, summary
from job_engine.demo import handlers as _handlers  # noqa: F401 - registers the job types
from job_engine.demo.director import Director
from job_engine.demo.events import Event
from job_engine.demo.feed import Feed
from job_engine.demo.pool import Pool
from job_engine.demo.scenario import Planned, Roll
from job_engine.demo.screen import Screen, screen_for
from job_engine.demo.story import Story
from job_engine.demo.verdict import judge
from job_engine.engine import Engine

PROCESSES = 2
LOOK_SECONDS = 0.1
LIMIT_SECONDS = 120.0  # many times what it takes; the verdict then says what has not ended
WRONG, INTERRUPTED = 1, 130


def run(argv: Sequence[str] | None = None) -> int:
    try:
        code: int = program.main(list(argv) if argv is not None else None, "job-engine demo", standalone_mode=False)
        return code
    except click.ClickException as error:
        error.show()
        return error.exit_code


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--file",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=database.FILE,
    show_default=True,
    help="The SQLite database. Each run makes it anew, and leaves it for you to look at.",
)
def program(path: Path) -> int:
    """See it work: a few hundred jobs, failures, a cancel, a killed worker.

    Exit code: 0 when every count is as expected, 1 when one is not, 130 after Ctrl-C.
    """
    console = Console(highlight=False)
    try:
        with _signals_as_interrupt(), _log() as log:
            return _perform(console, path, log)
    except JobEngineError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        console.print("Interrupted. The workers are stopped, and nothing was checked.")
        return INTERRUPTED


def _perform(console: Console, path: Path, log: IO[str]) -> int:
    url = database.make_anew(path)
    planned = scenario.plan()
    with Engine.open(url) as engine:
        started = time.monotonic()
        roll = scenario.enqueue(engine, planned)
        screen = screen_for(console, roll, PROCESSES)
        console.print(f"[bold]Job Engine[/]: a demo on SQLite, with {PROCESSES} worker processes")
        screen.say(_enqueued(planned, time.monotonic() - started))
        refused = _ask_again(engine, planned, roll, screen)
        with screen, _pool(url, log) as pool:
            _watch(engine, pool, screen, roll)
        verdict = judge(roll, len(scenario.duplicates(planned)), facts.gather(engine, refused))
        summary.show(console, verdict, screen.seconds)
        if not verdict.ok:
            raise JobEngineError("The demo did not go as it must. The database is kept for whoever looks into it.")
        with engine.store.transaction() as session:
            effects.bring_back(session, effects.PARTNER)
    summary.show_next(console, url, roll)
    return 0


def _enqueued(planned: Sequence[Planned], seconds: float) -> Event:
    types = len({one.job_type for one in planned})
    organizations = len({one.organization for one in planned})
    return Event(
        f"{len(planned)} jobs of {types} types for {organizations} organizations: enqueued in {seconds * 1000:.0f} ms"
    )


def _ask_again(engine: Engine, planned: list[Planned], roll: Roll, screen: Screen) -> int:
    """Enqueue some jobs a second time. Returns how often the first one was returned instead of a new one."""
    names = {one.label: name for name, one in roll.items()}
    refused = 0
    for one in scenario.duplicates(planned):
        answer = scenario.ask(engine, one, names)
        if not answer.created and answer.name == names[one.label]:
            refused += 1
            screen.say(Event(f"{one.label}: asked for twice, and the duplicate is refused"))
    return refused


def _watch(engine: Engine, pool: Pool, screen: Screen, roll: Roll) -> None:
    """Until every job has ended."""
    feed, director, story = Feed(engine), Director(engine, pool, roll), Story(roll, PROCESSES)
    while True:
        look = feed.look()
        for event in (*story.tell(look), *director.act(look)):
            screen.say(event)
        screen.show(look)
        if look.all_ended or screen.seconds > LIMIT_SECONDS:
            return
        pool.check()
        time.sleep(LOOK_SECONDS)


@contextmanager
def _pool(url: str, log: IO[str]) -> Iterator[Pool]:
    pool = Pool(url, PROCESSES, log)
    try:
        yield pool
    finally:
        pool.stop()


@contextmanager
def _log() -> Iterator[IO[str]]:
    """Where the workers log to. Kept only when it may tell what went wrong."""
    with tempfile.NamedTemporaryFile("w", prefix="job-engine-demo-", suffix=".log", delete=False) as log:
        try:
            yield log
        except JobEngineError as error:
            if os.path.getsize(log.name):
                raise JobEngineError(f"{error} What its workers said is in {log.name}.") from error
            Path(log.name).unlink(missing_ok=True)
            raise
        except BaseException:
            Path(log.name).unlink(missing_ok=True)
            raise
    Path(log.name).unlink(missing_ok=True)


@contextmanager
def _signals_as_interrupt() -> Iterator[None]:
    """A demo that is told to end, or whose terminal is closed, stops its workers as after Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
