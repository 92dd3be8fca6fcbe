"""procrastinate: its worker, one process.

Settings, and why these:
- An async task, so that no job pays for a thread, and uvloop.
- Several concurrencies are tried on the machine at hand, and the quickest is compared with. A few tasks hide the round trips of
  the completions; more only get in each other's way, for jobs are fetched one by one.
- Completed jobs are kept (`delete_jobs="never"`, its default) or deleted (`"successful"`), whichever is quicker: both are tried.
- `listen_notify=False`: the queue is full before the worker starts, so there is nothing to listen for.
- A connection for every task, opened beforehand.
- No log line for a job: its logger stays at WARNING.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvloop
from procrastinate import App, PsycopgConnector

from benchmarks.peers import worker
from benchmarks.servers import PostgresqlDatabase
from benchmarks.tally import Tally

_FILL_BATCH = 1000
#: One for the fetching, one for the worker's heartbeat.
_SPARE_CONNECTIONS = 2


@dataclass(frozen=True)
class Settings:
    concurrency: int
    delete_jobs: str


_CANDIDATES = (
    Settings(1, "successful"),
    Settings(3, "successful"),
    Settings(10, "successful"),
    Settings(10, "never"),
    Settings(30, "never"),
)


def candidates() -> list[partial[ProcrastinatePostgresql]]:
    return [partial(ProcrastinatePostgresql, settings=settings) for settings in _CANDIDATES]


def application(url: str, connections: int, tally: Tally | None = None) -> App:
    app = App(connector=PsycopgConnector(conninfo=url, min_size=connections, max_size=connections))

    @app.task(name="noop")
    async def noop() -> None:
        tally.hit()

    return app


class ProcrastinatePostgresql:
    """A database of its own, one worker process."""

    name = "procrastinate"

    def __init__(self, folder: Path, *, settings: Settings) -> None:
        self.settings = f"concurrency {settings.concurrency}, delete_jobs={settings.delete_jobs}, async task, uvloop"
        self._arguments = (str(settings.concurrency), settings.delete_jobs)
        self._keeps = settings.delete_jobs == "never"
        self._database = PostgresqlDatabase("procrastinate")
        self._jobs = 0

    def fill(self, jobs: int) -> None:
        asyncio.run(self._fill(jobs))
        self._database.settle()
        self._jobs = jobs

    async def _fill(self, jobs: int) -> None:
        app = application(self._database.url, connections=1)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            for start in range(0, jobs, _FILL_BATCH):
                await app.tasks["noop"].batch_defer_async(*({} for _ in range(min(_FILL_BATCH, jobs - start))))

    def worker(self) -> list[str]:
        return worker.command(__name__, *self._arguments)

    def environment(self) -> dict[str, str]:
        return worker.environment(self._database.url)

    def finished(self) -> int:
        if self._keeps:
            return self._database.value("SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'")
        return self._jobs - self._database.value("SELECT count(*) FROM procrastinate_jobs")

    def close(self) -> None:
        self._database.close()


def work(concurrency: str, delete_jobs: str) -> None:
    app = application(worker.address(), int(concurrency) + _SPARE_CONNECTIONS, Tally.inherited())

    async def run() -> None:
        async with app.open_async():
            await app.run_worker_async(concurrency=int(concurrency), delete_jobs=delete_jobs, listen_notify=False)

    uvloop.run(run())
