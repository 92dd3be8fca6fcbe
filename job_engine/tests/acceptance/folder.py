"""The folder that a test and its workers share: notes that handlers append, gates that tests open.

What is written here is outside the database, as a mail or a payment would be: no transaction takes it back.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

VARIABLE = "JOB_ENGINE_ACCEPTANCE_FOLDER"  # also the mark by which a test finds every process it has started


class Note(NamedTuple):
    what: str
    job: str
    attempt: int
    at: float  # time.monotonic(), which all processes of a machine share
    pid: int


@dataclass(frozen=True)
class Folder:
    path: Path

    @classmethod
    def of_this_worker(cls) -> Folder:
        return cls(Path(os.environ[VARIABLE]))

    def note(self, what: str, job: str, attempt: int) -> None:
        """Append one line in one write, so that lines of several processes do not mix and a kill leaves none half."""
        line = f"{what} {job} {attempt} {time.monotonic():.6f} {os.getpid()}\n"
        file = os.open(self.path / "notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)

    def notes(self, what: str, job: str | None = None) -> list[Note]:
        try:
            lines = (self.path / "notes").read_text().splitlines()
        except FileNotFoundError:
            return []
        parsed = (line.split() for line in lines)
        found = [Note(kind, name, int(attempt), float(at), int(pid)) for kind, name, attempt, at, pid in parsed]
        return [note for note in found if note.what == what and job in (None, note.job)]

    def open_gate(self, gate: str) -> None:
        (self.path / f"gate-{gate}").touch()

    def is_open(self, gate: str) -> bool:
        return (self.path / f"gate-{gate}").exists()
