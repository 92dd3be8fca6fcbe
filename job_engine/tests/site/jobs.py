"""Job types that only the site's tests use; the site's configuration names this module under `job_types`."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import frappe

from job_engine import JobContext, PermanentError, Snooze, TransientError, job

EFFECTS = "__job_engine_test_effect"  # a table without doctype: (job, kind, value)


def effect(ctx: JobContext, kind: str = "ran", value: Any = None) -> None:
    """Write down that a handler did something, in the job's own transaction."""
    frappe.db.sql(
        f"INSERT INTO `{EFFECTS}` (job, kind, value) VALUES (%s, %s, %s)",
        (ctx.name, kind, None if value is None else str(value)),
    )


@job("test.noop", dedup_window=0)
def noop(ctx: JobContext, i: int = 0) -> None:
    """Nothing."""


@job("test.effect", dedup_window=0)
def leave_effect(ctx: JobContext, value: str = "") -> str:
    """One row for each time that it ran to its end."""
    effect(ctx, "ran", value)
    return frappe.session.user


@job("test.fail", dedup_window=0, retry=0, max_attempts=2)
def fail(ctx: JobContext, error: str = "ValueError", message: str = "as asked for") -> None:
    """Writes, and then raises what is asked for."""
    effect(ctx, "failed")
    raise {
        "ValueError": ValueError,
        "TransientError": TransientError,
        "PermanentError": PermanentError,
        "ValidationError": frappe.ValidationError,
        "PermissionError": frappe.PermissionError,
    }[error](message)


@job("test.sleep", dedup_window=0, timeout=60)
def sleep(ctx: JobContext, seconds: float = 1.0, steps: int = 10) -> None:
    """Takes its time and tells how far it is."""
    effect(ctx, "started", os.getpid())
    for step in range(steps):
        ctx.progress(100 * step / steps, f"Step {step} of {steps}")
        time.sleep(seconds / steps)
    effect(ctx, "ran")


@job("test.snooze", dedup_window=0)
def snooze(ctx: JobContext) -> None:
    raise Snooze(3600)


@job("test.die", dedup_window=0, max_attempts=2, retry=0)
def die(ctx: JobContext) -> None:
    """Takes its worker with it."""
    os.kill(os.getpid(), signal.SIGKILL)


@job("test.process", dedup_window=0, isolation="Process")
def in_a_process(ctx: JobContext, seconds: float = 0.0) -> int:
    effect(ctx, "pid", os.getpid())
    time.sleep(seconds)
    return os.getpid()


def plain(value: str = "") -> None:
    """A function as it is given to frappe.enqueue."""
    frappe.db.sql(f"INSERT INTO `{EFFECTS}` (job, kind, value) VALUES ('', 'plain', %s)", (value,))
