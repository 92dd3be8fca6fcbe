"""`job_engine.enqueue`: frappe.enqueue's place for server code, and the engine's own call for registered types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import frappe

from job_engine.core.errors import InvalidJob
from job_engine.core.fingerprint import job_hash
from job_engine.core.job import Job
from job_engine.core.retry import MAX_DELAY
from job_engine.site import engine
from job_engine.store.inserting import NewJob


def enqueue(
    method: str | Callable[..., Any], params: dict[str, Any] | str | None = None, *args: Any, **options: Any
) -> Job | Any:
    """Enqueue a job in the current transaction: it exists if and only if that commits.

    With a dict, this is the engine's call: `enqueue("pdf_generation", {"template": "monthly"}, priority="High")`; the keywords
    are options. Without, it is frappe.enqueue's: `enqueue("my_app.tasks.send", queue="short", invoice="INV-1")`; its own
    keywords mean what they mean there, and all others are the function's.
    """
    if isinstance(params, dict):
        return engine().enqueue(method, params, *args, **options)
    if params is not None:
        options["queue"] = params  # frappe.enqueue's second positional argument
    return _in_place_of_frappe(method, **options)


def _in_place_of_frappe(
    method: str | Callable[..., Any],
    queue: str | None = None,
    timeout: int | None = None,
    event: str | None = None,
    is_async: bool = True,
    job_name: str | None = None,
    now: bool = False,
    enqueue_after_commit: bool = False,  # always so here
    *,
    on_success: Callable[..., Any] | None = None,
    on_failure: Callable[..., Any] | None = None,
    at_front: bool = False,
    job_id: str | None = None,
    deduplicate: bool = False,
    **kwargs: Any,
) -> Job | Any:
    if now or not is_async:
        return frappe.call(method, **kwargs)
    if on_success or on_failure:
        raise InvalidJob(
            "on_success and on_failure are called with RQ's own objects, which a durable job does not have. Put what follows"
            " success at the end of the function, or into a job with depends_on; for failures there is the hook"
            " job_engine_events."
        )
    if deduplicate and not job_id:
        raise InvalidJob("deduplicate needs a job_id, as in frappe.enqueue.")
    chosen: dict[str, Any] = {"dedup_window": 0}
    if queue:
        chosen["queue"] = queue
    if timeout:
        chosen["timeout"] = int(timeout)
    if at_front:
        chosen["priority"] = "High"
    site = engine()
    (new,) = site.built(method, [kwargs], chosen)
    if deduplicate:  # an active job with this id stands for the new one, whatever its arguments
        same = job_hash("frappe.job_id", new.job.organization, str(job_id))
        new = NewJob(new.job.evolve(job_hash=same), MAX_DELAY)
    return site.insert([new])[0]
