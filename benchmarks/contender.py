"""What a job system has to offer to be measured."""

from __future__ import annotations

from typing import Protocol


class Contender(Protocol):
    """One job system on one storage. A new instance starts with empty storage of its own."""

    name: str
    #: Its settings, in a few words, for the reader of the table.
    settings: str

    def fill(self, jobs: int) -> None:
        """Enqueue this many no-op jobs."""

    def worker(self) -> list[str]:
        """The command that starts one worker process."""

    def environment(self) -> dict[str, str]:
        """What the worker finds in its environment, besides the tally."""

    def finished(self) -> int:
        """How many jobs the storage itself has as done."""

    def close(self) -> None:
        """Give back connections and storage."""
