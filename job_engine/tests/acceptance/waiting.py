"""Wait for an event, with a limit. The one place of the acceptance tests that sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

LIMIT = 30.0  # seconds; far more than anything here takes, so that a slow machine does not fail
EVERY = 0.02


def until(condition: Callable[[], Found], what: str, limit: float = LIMIT) -> Found:
    """Ask until the answer is true, and return it. A test that waits in vain fails and says for what."""
    deadline = time.monotonic() + limit
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"Waited {limit:g} s in vain for {what}; the last answer was {found!r}.")
        time.sleep(EVERY)
    return found
