"""Four priorities, and the lane a queued job waits in.

A lane is one text column: priority, queue, organization, type. It is the leading column of the claim's index, so that the
claim can hop from lane to lane without reading the jobs in them, whatever their number.
"""

from __future__ import annotations

from typing import NamedTuple

from job_engine.core.errors import InvalidJob
from job_engine.core.language import _

PRIORITIES = ("Critical", "High", "Normal", "Low")
_RANK = {name: str(rank) for rank, name in enumerate(PRIORITIES)}


class Lane(NamedTuple):
    rank: str
    queue: str
    organization: str
    job_type: str

    @classmethod
    def parse(cls, text: str) -> Lane:
        rank, queue, rest = text.split("|", 2)
        organization, job_type = rest.rsplit("|", 1)  # only an organization may contain the separator
        return cls(rank, queue, organization, job_type)

    def __str__(self) -> str:
        return "|".join(self)


def lane_of(priority: str, queue: str, organization: str | None, job_type: str) -> str:
    return f"{_RANK[priority]}|{queue}|{organization or ''}|{job_type}"


def lane_ranges(queues: tuple[str, ...] | None) -> list[tuple[str, str]]:
    """Open intervals of lanes that a worker on these queues may take, most urgent first. '}' follows '|' in every
    binary collation."""
    if queues is None:
        return [(f"{rank}|", f"{rank}}}") for rank in _RANK.values()]
    return [(f"{rank}|{queue}|", f"{rank}|{queue}}}") for rank in _RANK.values() for queue in queues]


def check_priority(priority: str) -> str:
    if priority not in _RANK:
        raise InvalidJob(
            _("Priority {0!r} does not exist. Choose one of: {1}.").format(priority, ", ".join(PRIORITIES))
        )
    return priority
