"""Run things at the same moment in threads, and hear what became of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

LIMIT_SECONDS = 60.0


def at_once(functions: Sequence[Callable[[], Any]], after: Callable[[], None] = lambda: None) -> list[Any]:
    """Start all functions together; their results in the same order. The first error of any is raised here.

    `after` is called in each thread at its end: give it the `close` of whatever has a connection for each thread.
    """
    barrier = threading.Barrier(len(functions))
    results: list[Any] = [None] * len(functions)
    errors: list[BaseException] = []

    def run(i: int, function: Callable[[], Any]) -> None:
        try:
            barrier.wait(LIMIT_SECONDS)
            results[i] = function()
        except BaseException as error:
            errors.append(error)
        finally:
            after()

    threads = [threading.Thread(target=run, args=(i, f), daemon=True) for i, f in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_SECONDS)
        assert not thread.is_alive(), f"a thread did not end within {LIMIT_SECONDS:g} s"
    if errors:
        raise errors[0]
    return results
