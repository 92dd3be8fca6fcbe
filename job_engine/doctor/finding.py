"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(str, Enum):
    OK = "ok"
    WARNING = "warning"  # it works, and somebody should look
    PROBLEM = "problem"  # jobs do not run, or promises do not hold

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    level: Level
    says: str
    advice: str | None = None  # what to do; None when all is well
