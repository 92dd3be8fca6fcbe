"""pgqueuer: its queue manager, one process.

Settings, and why these:
- Several batch sizes are tried on the machine at hand, and the quickest is compared with. The batch is also how many completions
  it writes at once.
- An async entrypoint, uvloop, and asyncpg with a pool: claims and completions then overlap, which a single connection
  does not allow. Its psycopg driver is much slower.
- `max_concurrent_tasks` stays unlimited, its default: a limit makes its claim count what runs.
- Durable tables, its default.
- No log line for a job: its logger stays at WARNING.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import asyncpg
import uvloop
from pgqueuer import PgQueuer, Queries
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.models import Job

from benchmarks.peers import worker
from benchmarks.servers import PostgresqlDatabase
from benchmarks.tally import Tally

_FILL_BATCH = 1000
_CONNECTIONS = 4
_BATCH_SIZES = (100, 500, 1000, 2000)


def candidates() -> list[partial[PgqueuerPostgresql]]:
    return [partial(PgqueuerPostgresql, batch_size=batch_size) for batch_size in _BATCH_SIZES]


class PgqueuerPostgresql:
    """A database of its own, one worker process."""

    name = "pgqueuer"

    def __init__(self, folder: Path, *, batch_size: int) -> None:
        self.settings = f"batches of {batch_size}, async entrypoint, asyncpg pool of {_CONNECTIONS}, uvloop"
        self._batch_size = batch_size
        self._database = PostgresqlDatabase("pgqueuer")

    def fill(self, jobs: int) -> None:
        asyncio.run(self._fill(jobs))
        self._database.settle()

    async def _fill(self, jobs: int) -> None:
        connection = await asyncpg.connect(self._database.url)
        queries = Queries(AsyncpgDriver(connection))
        await queries.install()
        for start in range(0, jobs, _FILL_BATCH):
            count = min(_FILL_BATCH, jobs - start)
            await queries.enqueue(["noop"] * count, [None] * count, [0] * count)
        await connection.close()

    def worker(self) -> list[str]:
        return worker.command(__name__, str(self._batch_size))

    def environment(self) -> dict[str, str]:
        return worker.environment(self._database.url)

    def finished(self) -> int:
        return self._database.value("SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'")

    def close(self) -> None:
        self._database.close()


def work(batch_size: str) -> None:
    tally = Tally.inherited()

    async def run() -> None:
        async with asyncpg.create_pool(worker.address(), min_size=_CONNECTIONS, max_size=_CONNECTIONS) as pool:
            manager = PgQueuer(AsyncpgPoolDriver(pool))

            @manager.entrypoint("noop")
            async def noop(job: Job) -> None:
                tally.hit()

            await manager.run(batch_size=int(batch_size))

    uvloop.run(run())
