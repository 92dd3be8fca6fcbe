"""Around `bench migrate`: jobs enqueued by the old code are checked against the new, and no runner is at work meanwhile.

Runners claim nothing while everything is paused, finish or give back what they hold, and leave. The pause is one that an
operator can see and undo; a migration that fails leaves it, because a site that is half migrated must not run jobs.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator

import click
import frappe

from job_engine.core import canonical
from job_engine.core.errors import JobEngineError
from job_engine.core.job import Job
from job_engine.core.job_type import JobType
from job_engine.core.registry import type_of_path
from job_engine.core.states import ACTIVE, Status
from job_engine.site import tables, wakeups
from job_engine.site.engines import RunnersEngine
from job_engine.store.reading import Filter

BY = "bench migrate"
PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.2
SAMPLE = 200  # jobs of a type whose parameters are looked at
_EVERYTHING = ("everything", "")


def before_migrate() -> None:
    """Say what the new code cannot run, pause, and wait for runners to leave. Nothing of this ends the migration."""
    if not _is_ready():
        return
    try:
        engine = RunnersEngine.for_runners()
    except JobEngineError as error:  # a module of job types that cannot be imported
        _warn(f"{error} Until then every job of its types would end in Dead Letter.")
        return
    try:
        for line in misfits(engine):
            _warn(line)
        pause(engine)
        wait_for_runners(engine)
    finally:
        engine.close()


def after_migrate() -> None:
    """Let jobs run again, unless somebody else had paused everything."""
    engine = RunnersEngine.for_runners()
    try:
        known = engine.store.controls().pauses.get(_EVERYTHING)
        if known is not None and known.by == BY:
            engine.resume(*_EVERYTHING)
        wakeups.wake_waiting(engine, even_if_pending=True)
    finally:
        engine.close()


def pause(engine: RunnersEngine) -> None:
    if _EVERYTHING not in engine.store.controls().pauses:
        engine.pause(*_EVERYTHING, by=BY, reason="the site is being migrated; if that failed, migrate again")


def wait_for_runners(engine: RunnersEngine, patience: float = PATIENCE_SECONDS) -> bool:
    """Whether nothing runs any more. What runs for longer goes on beside the migration, and is named."""
    until = time.monotonic() + patience
    quiet = 0
    while quiet < 2:  # looks in a row: a claim may have been on its way when everything was paused
        running = engine.find(limit=10, status=Status.RUNNING)
        quiet = 0 if running else quiet + 1
        if running and time.monotonic() > until:
            listed = ", ".join(f"{job.name} ({job.job_type})" for job in running)
            _warn(
                f"Still running after {patience:.0f} s, with the old code: {listed}. The migration goes on; stop the workers"
                " first (or cancel these jobs) where it changes what they use."
            )
            return False
        time.sleep(LOOK_SECONDS)
    return True


# What the new code cannot run -----------------------------------------------------------------------------------------


def misfits(engine: RunnersEngine) -> Iterator[str]:
    """One sentence for each kind of waiting job that would end in Dead Letter, and what to do about it."""
    for name, handler, n in engine.store.count_by(Filter(status=sorted(ACTIVE)), ["job_type", "handler"]):
        try:
            job_type = engine.registry.get(name) or (type_of_path(handler) if handler else engine.registry[name])
        except JobEngineError as error:
            yield (
                f"{n} waiting jobs of type {name} have no handler any more: {error} They would end in Dead Letter. Keep the"
                f" old name until they have run, or cancel them: bench --site {frappe.local.site} job-engine list --type {name}"
            )
            continue
        yield from _refused(engine, job_type, n)


def _refused(engine: RunnersEngine, job_type: JobType, n: int) -> Iterator[str]:
    sample = engine.find(limit=SAMPLE, status=sorted(ACTIVE), job_type=job_type.name)
    by_names = {tuple(sorted(keywords)): job for job in sample if (keywords := _keywords(job)) is not None}
    for names, job in by_names.items():
        refusal = _refusal(job_type, names)
        if refusal is not None:
            yield (
                f"The handler of {job_type.name} no longer accepts parameters of waiting jobs (such as {job.name}): {refusal}."
                f" {n} jobs of the type wait; those would end in Dead Letter. Let the handler accept both, or cancel them."
            )


def _keywords(job: Job) -> dict[str, object] | None:
    try:
        found = canonical.decode(job.params_json)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _refusal(job_type: JobType, names: tuple[str, ...]) -> str | None:
    try:
        signature = inspect.signature(job_type.handler)
    except (TypeError, ValueError):  # a callable that does not tell
        return None
    try:
        signature.bind(*((None,) if job_type.wants_context else ()), **dict.fromkeys(names))
    except TypeError as error:
        return str(error)
    return None


def _is_ready() -> bool:
    """Not on the first migrate after an older version: the tables are yet to be made."""
    return {tables.JOB, *tables.INTERNAL.values()} <= set(frappe.db.get_tables(cached=False))


def _warn(text: str) -> None:
    click.secho(f"Job Engine: {text}", fg="yellow", err=True)
