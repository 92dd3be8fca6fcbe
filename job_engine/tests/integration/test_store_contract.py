"""The store's contract on SQLite, PostgreSQL and MariaDB."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from job_engine.store.sql import SqlStore
from job_engine.store.url import dialect_for
from job_engine.tests.case import Case
from job_engine.tests.clock import FrozenClock
from job_engine.tests.contract import StoreContract


class TestSqlStore(StoreContract):
    @pytest.fixture
    def store(self, database_url: str, clock: FrozenClock) -> Iterator[SqlStore]:
        store = SqlStore(dialect_for(database_url), clock, StoreContract.LEASE)
        store.create_tables()
        yield store
        store.close()

    @pytest.mark.parametrize("organizations", [("ACME",), ("ACME", "Globex")])
    def test_a_job_that_is_too_long_to_come_as_one_text_is_claimed_all_the_same(
        self, case: Case, monkeypatch: pytest.MonkeyPatch, organizations: tuple[str, ...]
    ) -> None:
        monkeypatch.setattr(case.store.dialect, "packed", lambda columns: "NULL")  # MariaDB's answer then
        for organization in organizations:
            case.enqueue(organization=organization)
        claimed = case.store.claim_batch("w1", 10)
        assert [job.attempts for job in claimed] == [1] * len(organizations)
        assert claimed == [case.store.get(job.name) for job in claimed]
