"""Job Engine in a Frappe site. `engine()` is the current site's engine; `enqueue` takes the place of frappe.enqueue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from job_engine.site.engines import SiteEngine


def engine() -> SiteEngine:
    """The current site's engine, in the caller's transaction: what it does is true once frappe.db commits."""
    import frappe

    known = getattr(frappe.local, "job_engine", None)
    if known is None:
        from job_engine.site.engines import SiteEngine

        known = frappe.local.job_engine = SiteEngine.for_callers()
    return known  # type: ignore[no-any-return]


def enqueue(method: Any, *args: Any, **kwargs: Any) -> Any:
    from job_engine.site.enqueueing import enqueue

    return enqueue(method, *args, **kwargs)


def enqueue_many(method: Any, params: Any, **options: Any) -> Any:
    """One job for each of the parameters, all in the caller's transaction."""
    return engine().enqueue_many(method, params, **options)
