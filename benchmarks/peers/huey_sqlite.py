"""huey's SqliteHuey: its consumer with one worker.

Settings, and why these:
- A worker thread, huey's default: beside one worker, a process of its own or more threads gain nothing, for its storage takes an
  exclusive lock for each job.
- `results=False`: no result is written for a job, which is the least huey can do.
- `periodic=False`: no scheduler duty but the one for delayed jobs.
- The write-ahead log, huey's default, and `fsync=True`: SQLite's synchronous=FULL. huey's default leaves SQLite's own,
  which is FULL in nearly every build, so the two are the same; named here, it is Job Engine's durability on every machine.
  `fsync=False` (synchronous=OFF) is measured as well, as a figure without a requirement: it is quicker, and a power cut may
  corrupt the file, or bring back jobs that ran long ago.
- No log line for a job: the consumer's logger stays at WARNING.

What it does for a job is less than what Job Engine does: a job leaves the table when it is taken, so that a worker that is killed
loses it, and nothing is recorded about one that ran.
"""

from __future__ import annotations

from pathlib import Path

from huey import SqliteHuey

from benchmarks.peers import worker
from benchmarks.tally import Tally


def application(file: Path, *, fsync: bool) -> SqliteHuey:
    return SqliteHuey(filename=str(file), results=False, fsync=fsync)


def register(huey: SqliteHuey, tally: Tally | None = None):
    @huey.task(name="noop")
    def noop() -> None:
        tally.hit()

    return noop


class HueySqlite:
    """One file, one consumer process with one worker thread."""

    def __init__(self, folder: Path, *, fsync: bool = True) -> None:
        self.name = "huey SqliteHuey" if fsync else "huey SqliteHuey, fsync off"
        self.settings = f"1 worker thread, results off, WAL, synchronous={'FULL' if fsync else 'OFF'}"
        self._file = folder / "huey.db"
        self._fsync = fsync
        self._jobs = 0

    def fill(self, jobs: int) -> None:
        # Without fsync: filling the queue is not what is measured.
        huey = application(self._file, fsync=False)
        noop = register(huey)
        for _ in range(jobs):
            noop()
        huey.storage.close()
        self._jobs = jobs
        self._huey = application(self._file, fsync=False)

    def worker(self) -> list[str]:
        return worker.command(__name__, "full" if self._fsync else "off")

    def environment(self) -> dict[str, str]:
        return worker.environment(str(self._file))

    def finished(self) -> int:
        """huey keeps no record of a job that ran: that the queue no longer has it is all its storage knows."""
        return self._jobs - self._huey.storage.queue_size()

    def close(self) -> None:
        self._huey.storage.close()


def work(synchronous: str) -> None:
    huey = application(Path(worker.address()), fsync=synchronous == "full")
    register(huey, Tally.inherited())
    huey.create_consumer(workers=1, worker_type="thread", initial_delay=0.01, max_delay=0.1, periodic=False).run()
