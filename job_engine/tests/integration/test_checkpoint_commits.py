"""ctx.save_checkpoint() commits in the middle of a handler; what comes after it is in a new transaction, not in none."""

from __future__ import annotations

from job_engine import JobContext, TransientError
from job_engine.core.registry import Registry
from job_engine.core.states import Status
from job_engine.tests.integration.conftest import OpenEngine


def test_a_connection_kept_over_a_checkpoint_still_writes_with_the_completion(
    open_engine: OpenEngine, registry: Registry
) -> None:
    @registry.job("import", retry=0)
    def import_rows(ctx: JobContext) -> None:
        cursor = ctx.connection.cursor()  # kept, as a loop over chunks would
        cursor.execute(f"INSERT INTO effect (job) VALUES ('before {ctx.attempt}')")
        ctx.checkpoint["chunk"] = 1
        ctx.save_checkpoint()
        cursor.execute(f"INSERT INTO effect (job) VALUES ('after {ctx.attempt}')")
        if ctx.attempt == 1:
            raise TransientError("in the second chunk")

    engine = open_engine()
    with engine.store.session() as session:
        session.execute("CREATE TABLE effect (job varchar(40) NOT NULL)")
    job = engine.enqueue("import")
    engine.run_once()
    engine.run_once()
    assert engine.get(job.name).status is Status.COMPLETED
    with engine.store.session() as session:
        found = session.column("SELECT job FROM effect ORDER BY job")
    assert found == ["after 2", "before 1", "before 2"]  # what followed the checkpoint of attempt 1 was rolled back


def test_every_checkpoint_is_committed_when_it_is_saved(open_engine: OpenEngine, registry: Registry) -> None:
    seen: list[tuple[object, int]] = []
    other = open_engine()

    @registry.job("import")
    def import_rows(ctx: JobContext) -> None:
        for chunk in range(3):
            cursor = ctx.connection.cursor()
            cursor.execute(f"INSERT INTO effect (job) VALUES ('{chunk}')")
            ctx.checkpoint["chunk"] = chunk
            ctx.save_checkpoint()
            with other.store.session() as session:
                rows = session.value("SELECT COUNT(*) FROM effect")
            seen.append((other.get(ctx.name).checkpoint, rows))

    with other.store.session() as session:
        session.execute("CREATE TABLE effect (job varchar(40) NOT NULL)")
    engine = open_engine()
    job = engine.enqueue("import")
    engine.run_once()
    assert engine.get(job.name).status is Status.COMPLETED
    assert seen == [({"chunk": 0}, 1), ({"chunk": 1}, 2), ({"chunk": 2}, 3)]
