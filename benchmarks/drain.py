"""The method, the same for everybody: fill the queue, start one worker process, time it until all is done.

The clock runs from the start of the first job to the moment when the contender's own storage has the last job as done, so that
neither the start of an interpreter nor an acknowledgement that is still on its way is left to chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from benchmarks.contender import Contender
from benchmarks.process import progress_limit, worker
from benchmarks.tally import ENVIRONMENT, Tally

#: Reading the tally costs nothing, but waking up does: on a small machine the worker needs the core.
_WATCH_SECONDS = 0.005
_SETTLE_SECONDS = 0.002
_STALLED_SECONDS = 60.0


class WrongCount(Exception):
    """A contender ran another number of jobs than it was given."""


@dataclass(frozen=True)
class Drain:
    """One worker process emptied one queue."""

    jobs: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.jobs / self.seconds


def drain(contender: Contender, jobs: int, folder: Path) -> Drain:
    """Fill, run and time one round."""
    contender.fill(jobs)
    tally = Tally.create(folder / "tally")
    environment = {**contender.environment(), ENVIRONMENT: str(folder / "tally")}
    settled = 0.0

    def all_recorded() -> bool:
        nonlocal settled
        settled = monotonic()
        return contender.finished() >= jobs

    with worker(contender.worker(), environment, folder / "worker.log") as running:
        limit = progress_limit(lambda: tally.count, _STALLED_SECONDS)
        running.wait_until(lambda: tally.count >= jobs, _WATCH_SECONDS, limit)
        running.wait_until(all_recorded, _SETTLE_SECONDS, progress_limit(contender.finished, _STALLED_SECONDS))
    if tally.count != jobs:
        raise WrongCount(f"{contender.name} was given {jobs} jobs and ran {tally.count}")
    return Drain(jobs, settled - tally.first)
