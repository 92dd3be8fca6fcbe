"""An engine on each database in turn, with a clock that stands still and a registry of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.register_assert_rewrite("job_engine.tests.case", "job_engine.tests.contract", "job_engine.tests.ledger")

from job_engine.core.registry import Registry  # noqa: E402
from job_engine.engine import Engine  # noqa: E402
from job_engine.tests.clock import FrozenClock  # noqa: E402

OpenEngine = Callable[..., Engine]


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def open_engine(database_url: str, clock: FrozenClock, registry: Registry) -> Iterator[OpenEngine]:
    """Opens engines on the test's database; what differs from the usual is an argument."""
    opened: list[Engine] = []

    def open_one(url: str = database_url, **options: Any) -> Engine:
        options = {"clock": clock, "registry": registry, "seed": 1, **options}
        opened.append(Engine.open(url, **options))
        return opened[-1]

    yield open_one
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: OpenEngine) -> Engine:
    return open_engine()
