"""How fast one `bench worker` empties a queue of no-op jobs."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import report
from benchmarks.report import Figure
from benchmarks.rounds import Entry, Plan, take_turns
from benchmarks.site.contenders import Ours, Plain

_GROUP = "Drain"
_AT_LEAST = 60


def measure(plan: Plan) -> Iterator[Figure]:
    ours, plain = take_turns(plan, [Entry(lambda _: Ours()), Entry(lambda _: Plain(), 0.02)])
    yield report.ratio(_GROUP, "no-op jobs, one bench worker", ours, plain, "frappe.enqueue", _AT_LEAST)
