"""The tables of the standalone home: made once, by whoever comes first, and again by nobody."""

from __future__ import annotations

from contextlib import closing

import pytest

from job_engine.core.errors import JobEngineError
from job_engine.core.registry import Registry
from job_engine.engine import Engine
from job_engine.store import schema
from job_engine.store.rows import JOB_COLUMNS
from job_engine.tests.parallel import at_once


def test_many_processes_that_open_a_new_database_at_once_all_succeed(blank_database_url: str) -> None:
    registry = Registry()
    registry.job("work", dedup_window=0)(lambda: None)

    def open_and_enqueue() -> str:
        with closing(Engine.open(blank_database_url, registry=registry)) as engine:
            return engine.enqueue("work").name

    names = at_once([open_and_enqueue] * 6)
    with closing(Engine.open(blank_database_url, registry=registry)) as engine:
        assert sorted(job.name for job in engine.find()) == sorted(names)
        with engine.store.session() as session:
            assert session.column("SELECT value FROM {meta} WHERE name = 'schema_version'") == [str(schema.VERSION)]


def test_tables_of_a_newer_version_are_left_alone(blank_database_url: str) -> None:
    with closing(Engine.open(blank_database_url)) as engine, engine.store.transaction() as session:
        session.execute("UPDATE {meta} SET value = '99' WHERE name = 'schema_version'")
    with pytest.raises(JobEngineError, match=r"99.*newer"):
        Engine.open(blank_database_url)


def test_jobs_in_any_state_can_be_written_many_at_a_time(engine: Engine, registry: Registry) -> None:
    """Whatever their columns hold: some are empty in one row, some are the same in all."""
    registry.job("work", dedup_window=0)(lambda: None)
    names = [engine.enqueue("work", queue=queue).name for queue in ("a", "a", "b", "b")]
    engine.run_once(1, ["a"])
    (running,) = engine.store.claim_batch("w1", 1, ["b"])
    engine.store.save_progress(running.name, "w1", 1, 45.5, "Page 5")
    engine.cancel(running.name)
    before = [engine.get(name) for name in names]

    with engine.store.transaction() as session:
        columns = session.dialect.sql(f"{JOB_COLUMNS}, lane")
        rows = session.rows(f"SELECT {columns} FROM {{job}}")
        session.execute("DELETE FROM {job}")
        session.insert("INSERT INTO {job} ({columns}) {source}", columns, rows)

    assert [engine.get(name) for name in names] == before


@pytest.mark.parametrize(
    "url",
    ["sqlite://", "sqlite:///", "sqlite:///:memory:", "oracle://u:secret@h/d", "jobs.db", "mariadb://u:secret@h/"],
)
def test_a_url_that_names_no_usable_database_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(JobEngineError) as caught:
        Engine.open(url)
    assert "secret" not in str(caught.value)
