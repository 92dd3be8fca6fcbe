"""The engine's numbers, with the defaults of the design."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from job_engine.core.errors import JobEngineError


@dataclass(frozen=True, slots=True)
class Settings:
    lease_seconds: float = 60.0  # a job belongs to its worker for so long after the last heartbeat
    heartbeat_seconds: float = 10.0
    grace_seconds: float = 10.0  # between the exception that stops a handler and the kill
    tick_seconds: float = 1.0
    cancel_check_seconds: float = 1.0  # how soon a running job learns that it was canceled
    progress_seconds: float = 0.25
    batch_jobs: int = 1000  # claimed at once, at most
    batch_seconds: float = 0.5  # of work claimed at once: slow jobs are claimed one by one
    group_jobs: int = 1000  # quick jobs that share a transaction, at most
    group_seconds: float = 0.05
    payload_bytes: int = 65_536  # of parameters, result and checkpoint each
    error_bytes: int = 8_192
    retention_days: float = 30.0

    @classmethod
    def of(cls, **values: Any) -> Settings:
        known = [f.name for f in fields(cls)]
        for word in values:
            if word not in known:
                raise JobEngineError(f"There is no setting {word!r}. There are: {', '.join(known)}.")
        return cls(**values)

    def __post_init__(self) -> None:
        for f in fields(self):
            if getattr(self, f.name) <= 0:
                raise JobEngineError(f"{f.name} is {getattr(self, f.name)}; it must be more than 0.")

    @property
    def beat_seconds(self) -> float:
        """Between two heartbeats, whatever was asked for: a lease must outlive two that are missed."""
        return min(self.heartbeat_seconds, self.lease_seconds / 3)
