"""Job types that only the site's tests use; the site's configuration names this module under `job_types`."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import frappe

import job_engine
from job_engine import JobContext, PermanentError, Snooze, TransientError, job

EFFECTS = "__job_engine_test_effect"  # a table without doctype


def make_effects_table() -> None:
    number = "bigserial" if frappe.db.db_type == "postgres" else "bigint AUTO_INCREMENT"
    frappe.db.sql_ddl(
        f"CREATE TABLE IF NOT EXISTS `{EFFECTS}`"
        f" (id {number} PRIMARY KEY, job varchar(140), kind varchar(40), value text)"
    )


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


@job("test.letter", dedup_window=0, idempotent=False)
def send_letter(ctx: JobContext) -> None:
    """Stands for what cannot be taken back."""


@job("test.file", dedup_window=0)
def make_file(ctx: JobContext, reference: str = "/files/report.pdf") -> dict[str, str]:
    """Names its output."""
    return {"file": reference}


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


@job("test.stubborn", dedup_window=0, timeout=1, max_attempts=1)
def stubborn(ctx: JobContext, seconds: float = 60.0, hold_the_interpreter: bool = False) -> None:
    """Does not listen to anybody."""
    effect(ctx, "started", os.getpid())
    frappe.db.commit()
    until = time.monotonic() + seconds
    if hold_the_interpreter:
        re.match(r"(a+)+$", "a" * 60 + "b")  # never lets another thread run
    while time.monotonic() < until:
        try:
            time.sleep(0.1)
        except BaseException:
            pass


@job("test.die", dedup_window=0, max_attempts=2, retry=0)
def die(ctx: JobContext) -> None:
    """Takes its worker with it."""
    os.kill(os.getpid(), signal.SIGKILL)


@job("test.process", dedup_window=0, isolation="Process")
def in_a_process(ctx: JobContext, seconds: float = 0.0) -> int:
    effect(ctx, "pid", os.getpid())
    time.sleep(seconds)
    return os.getpid()


@job("test.commits", dedup_window=0, retry=0)
def commits(ctx: JobContext, then_raise: bool = False) -> None:
    """Commits by itself, as much Frappe code does."""
    effect(ctx, "ran")
    frappe.db.commit()
    if then_raise:
        effect(ctx, "after the commit")
        raise ValueError("after the commit")


@job("test.rolls_back", dedup_window=0)
def rolls_back(ctx: JobContext) -> None:
    effect(ctx, "undone")
    frappe.db.rollback()
    effect(ctx, "ran")


@job("test.litter", dedup_window=0, retry=0, max_attempts=1)
def litter(ctx: JobContext, fail: bool = False) -> None:
    """Leaves something lying in every corner of frappe.local."""
    effect(ctx, "ran")
    frappe.flags.in_import = True
    frappe.flags.litter = True
    frappe.local.litter = True
    frappe.local.lang = "xx"
    frappe.local.cache["litter"] = True
    frappe.local.conf.litter = True
    frappe.local.response["litter"] = True
    frappe.msgprint("litter")
    frappe.db.get_value("User", "Administrator", "enabled", cache=True)
    frappe.db.after_commit.add(lambda: AFTER_COMMIT.append(ctx.name))
    frappe.db.after_rollback.add(lambda: AFTER_ROLLBACK.append(ctx.name))
    frappe.publish_realtime("litter", {"job": ctx.name}, user="Administrator", after_commit=True)
    if fail:
        raise ValueError("as asked for")


@job("test.look", dedup_window=0)
def look(ctx: JobContext) -> dict[str, Any]:
    """What a handler finds."""
    return {
        "user": frappe.session.user,
        "sid": frappe.session.sid,
        "flags": sorted(name for name, value in frappe.flags.items() if value),
        "lang": frappe.local.lang,
        "litter": hasattr(frappe.local, "litter"),
        "cache": "litter" in frappe.local.cache,
        "conf": "litter" in frappe.local.conf,
        "response": "litter" in frappe.local.response,
        "messages": len(frappe.local.message_log),
        "values": len(frappe.local.db.value_cache),
    }


@job("test.parent", dedup_window=0, retry=0, max_attempts=1)
def parent(ctx: JobContext, queue: str, fail: bool = False) -> None:
    """Enqueues another job, and may fail afterwards."""
    job_engine.enqueue("test.effect", {"value": "child"}, queue=queue, organization=ctx.organization)
    if fail:
        raise ValueError("as asked for")


AFTER_COMMIT: list[str] = []
AFTER_ROLLBACK: list[str] = []


def plain(value: str = "") -> None:
    """A function as it is given to frappe.enqueue."""
    _leave("plain", value)


def fails(value: str = "") -> None:
    """A function as it is given to frappe.enqueue, which does not end well."""
    plain(value)
    raise ValueError("as asked for")


def locks(names: list[str], fail: bool = False) -> None:
    """Locks documents, as Frappe does with those it works on in the background."""
    documents = [frappe.get_doc("Role", name) for name in names]
    for document in documents:
        document.lock()
    frappe.db.after_commit.add(lambda: HOOKED.append(("at the commit", [d.is_locked for d in documents])))
    if fail:
        raise ValueError("as asked for")


def tells_what_follows(value: str) -> str:
    """Leaves something to do for after the job, as Frappe does with a connection to a mail server."""
    user = frappe.session.user
    frappe.local.job.after_job.add(lambda: HOOKED.append(("after_job callback", value, frappe.session.user == user)))
    return frappe.local.job.method


HOOKED: list[tuple[Any, ...]] = []  # what was called around jobs in this process


def before_job(method: str, kwargs: dict[str, Any], transaction_type: str) -> None:
    """A hook of Frappe's."""
    HOOKED.append(("before", method, kwargs, transaction_type, frappe.session.user))
    frappe.local.hook_was_here = True
    _leave("before_job", method)


def after_job(method: str, kwargs: dict[str, Any], result: Any) -> None:
    """A hook of Frappe's, which keeps what it writes."""
    HOOKED.append(("after", method, kwargs, result, frappe.session.user, frappe.local.hook_was_here))
    _leave("after_job", f"{method} {result}")
    frappe.db.commit()


def forgetful_after_job(method: str) -> None:
    """A hook that does not commit."""
    HOOKED.append(("forgetful", method))
    _leave("forgetful", method)


def broken_hook() -> None:
    raise RuntimeError("a hook that is broken")


def _leave(kind: str, value: str) -> None:
    frappe.db.sql(f"INSERT INTO `{EFFECTS}` (job, kind, value) VALUES ('', %s, %s)", (kind, value))


def touch(path: str) -> None:
    """Something that plain RQ jobs do."""
    Path(path).touch()
