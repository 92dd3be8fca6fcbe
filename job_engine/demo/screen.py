"""Show what happens: on a terminal with bars that move, below the lines that stay; elsewhere as plain lines."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from job_engine.core.job import Job
from job_engine.core.states import Status
from job_engine.demo.events import Event, Tone
from job_engine.demo.feed import Look
from job_engine.demo.scenario import Roll

COLORS = {
    Status.COMPLETED: "green",
    Status.DEAD_LETTER: "red",
    Status.CANCELED: "white",
    Status.RUNNING: "magenta",
    Status.FAILED: "yellow",
    Status.TIMED_OUT: "yellow",
    Status.QUEUED: "cyan",
    Status.PENDING: "blue",
}
_TONES = {Tone.PLAIN: "dim", Tone.DONE: "green", Tone.TROUBLE: "yellow", Tone.BAD: "red", Tone.DEED: "magenta"}
_PLAIN_SECONDS = 2.0  # between two lines of counts


class Screen:
    """Plain lines, for a pipe or a file."""

    def __init__(self, console: Console, roll: Roll, processes: int):
        self.console = console
        self._roll = roll
        self._processes = processes
        self._started = time.monotonic()
        self._next_counts = _PLAIN_SECONDS

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def say(self, event: Event) -> None:
        self.console.print(f"{self.seconds:5.1f} s  {event.text}", markup=False, highlight=False, soft_wrap=True)

    def show(self, look: Look) -> None:
        if self.seconds >= self._next_counts:
            self._next_counts += _PLAIN_SECONDS
            states = ", ".join(f"{n} {status}" for status, n in _in_order(look))
            self.say(Event(f"{look.ended} of {look.jobs} jobs have ended: {states}"))


class LiveScreen(Screen):
    def __init__(self, console: Console, roll: Roll, processes: int):
        super().__init__(console, roll, processes)
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._live.stop()

    def say(self, event: Event) -> None:
        line = Table.grid(padding=(0, 1))
        line.add_column(justify="right", style="dim", width=6)
        line.add_column(width=1)
        line.add_column(overflow="fold")
        mark = Text("●" if _speaks_unicode(self.console) else "*", style=_TONES[event.tone])
        line.add_row(f"{self.seconds:.1f} s", mark, Text(event.text))
        self.console.print(line)

    def show(self, look: Look) -> None:
        self._live.update(Group("", self._overall(look), self._states(look), "", self._workers(look)), refresh=True)

    def _overall(self, look: Look) -> RenderableType:
        line = Table.grid(padding=(0, 1), expand=True)
        line.add_column(ratio=1)
        line.add_column(justify="right", no_wrap=True)
        line.add_row(StateBar(_in_order(look)), f"{look.ended} of {look.jobs} jobs have ended, {self.seconds:3.0f} s")
        return line

    def _states(self, look: Look) -> Text:
        parts = [
            Text(f"{n}\u00a0{str(status).replace(' ', chr(160))}", COLORS[status]) for status, n in _in_order(look)
        ]
        return Text("  ").join(parts)

    def _workers(self, look: Look) -> Table:
        """One line for each place in the pool, so that nothing jumps when a worker dies and another takes its place."""
        lines = Table.grid(padding=(0, 1), expand=True)
        lines.add_column(no_wrap=True, min_width=14)
        lines.add_column(width=max(10, self.console.width // 4))
        lines.add_column(justify="right", width=5)
        lines.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for worker in look.workers[: self._processes]:
            held = [job for job in look.running if job.lease_owner == worker.name]
            lines.add_row(f"worker {worker.pid}", *self._work(held))
        for _ in range(self._processes - len(look.workers)):
            lines.add_row(Text("a new worker", "dim"), "", "", Text("is starting", "dim"))
        return lines

    def _work(self, held: Sequence[Job]) -> tuple[RenderableType, ...]:
        long = max(held, key=lambda job: job.progress, default=None)
        if long is None:
            return "", "", Text("waits for work", "dim")
        if long.progress:
            bar = ProgressBar(total=100, completed=long.progress, complete_style="magenta", finished_style="green")
            return bar, f"{long.progress:.0f} %", Text(f"{self._roll[long.name].label}: {long.progress_message or ''}")
        types = ", ".join(dict.fromkeys(job.job_type for job in held))
        return Text(), "", Text(f"{len(held)} claimed: {types}" if len(held) > 1 else types)


class StateBar:
    """One bar, divided by state, as wide as there is room."""

    def __init__(self, counts: Sequence[tuple[Status, int]]):
        self._counts = counts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        piece = "━" if _speaks_unicode(console) else "="
        total = sum(n for _, n in self._counts) or 1
        drawn = seen = 0
        for status, n in self._counts:
            seen += n
            upto = round(seen * options.max_width / total)
            yield Segment(piece * (upto - drawn), Style(color=COLORS[status]))
            drawn = upto


def screen_for(console: Console, roll: Roll, processes: int) -> Screen:
    can_move = console.is_terminal and not console.is_dumb_terminal
    return (LiveScreen if can_move else Screen)(console, roll, processes)


def _in_order(look: Look) -> list[tuple[Status, int]]:
    return [(status, look.counts[status]) for status in COLORS if look.counts.get(status)]


def _speaks_unicode(console: Console) -> bool:
    return console.encoding.startswith("utf")
