"""Realtime events about jobs."""

from __future__ import annotations

from job_engine.core.job import Job, Outcome


def progressed(job: Job, percent: float, message: str | None) -> None:
    """A running job told how far it is. Called in a thread that has no frappe.local."""


def ended(outcomes: list[Outcome]) -> None:
    """Attempts ended, and that is committed."""


def changed(jobs: list[Job]) -> None:
    """Jobs were enqueued, canceled or retried in the caller's transaction: tell it once that commits."""
