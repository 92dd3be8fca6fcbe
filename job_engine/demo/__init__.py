"""`make demo`: a few hundred jobs on SQLite, with failures, a cancel and a killed worker, and every count checked."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo. Returns 0 when every count was as expected, 1 when one was not, 130 after Ctrl-C."""
    # Here, not above: the demo's workers import this package for its handlers and draw nothing.
    from job_engine.demo.command import run

    return run(argv)
