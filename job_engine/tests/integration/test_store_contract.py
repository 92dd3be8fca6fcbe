"""The store's contract on SQLite, PostgreSQL and MariaDB."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from job_engine.store.sql import SqlStore
from job_engine.store.url import dialect_for
from job_engine.tests.clock import FrozenClock
from job_engine.tests.contract import StoreContract


class TestSqlStore(StoreContract):
    @pytest.fixture
    def store(self, database_url: str, clock: FrozenClock) -> Iterator[SqlStore]:
        store = SqlStore(dialect_for(database_url), clock, StoreContract.LEASE)
        store.create_tables()
        yield store
        store.close()
