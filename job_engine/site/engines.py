"""The engine in its Frappe home."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import frappe

from job_engine.attempt import Attempt
from job_engine.context import JobContext
from job_engine.core.job import Job, Outcome
from job_engine.engine import Engine
from job_engine.enqueueing import build, check_options, resolve
from job_engine.group import Group
from job_engine.site import afterwards, capacity, enqueued, realtime, settings, tenancy, wakeups
from job_engine.site.admission import Admission
from job_engine.site.around import Around, describe
from job_engine.site.callers import CallersConnections
from job_engine.site.classification import site_classifier
from job_engine.site.dialects import site_dialect
from job_engine.site.execution import Desk
from job_engine.site.group import SiteGroup
from job_engine.site.job_types import SiteRegistry, load
from job_engine.site.store import SiteStore
from job_engine.store.inserting import NewJob


class SiteEngine(Engine):
    """For callers: in a request, a console, a handler. Everything happens in their transaction, on frappe.db."""

    store: SiteStore

    def __init__(self, store: SiteStore):
        load()
        registry = SiteRegistry()
        super().__init__(store, registry, settings.engine_settings(), site_classifier())
        store.registry = registry
        self.command = f"bench --site {frappe.local.site} job-engine"

    @classmethod
    def for_callers(cls) -> SiteEngine:
        from job_engine.site.language import speak_to_callers  # a runner need not have it

        speak_to_callers()
        dialect = site_dialect()
        return cls(SiteStore(dialect, connections=CallersConnections(dialect)))

    # Enqueue

    def _insert(
        self,
        what: str | Callable[..., Any],
        params: Sequence[dict[str, Any] | None],
        connection: Any,
        options: dict[str, Any],
    ) -> list[Job]:
        check_options(options)
        return self.insert(self.built(what, params, options))

    def built(
        self, what: str | Callable[..., Any], params: Sequence[dict[str, Any] | None], options: dict[str, Any]
    ) -> list[NewJob]:
        """Jobs that can be inserted: of the caller and their organization, where no other is named."""
        job_type, handler = resolve(self.registry, what)
        user = options["user"] = options.get("user") or frappe.local.session.user
        options["organization"] = tenancy.required_organization(user, options.get("organization"))
        return build(job_type, handler, params, settings.engine_settings(), self.store.now(), **options)

    def insert(self, new: list[NewJob]) -> list[Job]:
        """Insert jobs that are built, into the caller's transaction, and wake runners once that is committed."""
        if not new:
            return []
        first = new[0].job
        wakeups.check_queue(first.queue)
        capacity.check(first.organization, len(new))
        jobs = self.store.insert(new)
        created = [job for job in jobs if job.created]
        if created:
            enqueued.note(created, self.registry)
            realtime.changed(created, self.store)
        return jobs

    # See and steer

    def worker_hint(self, queue: str) -> str:
        from job_engine.site import serving  # a runner need not have it

        return serving.hint(queue, self.store.workers(), self.command)

    def cancel(self, name: str, by: str | None = None, reason: str | None = None) -> Job:
        job = super().cancel(name, by, reason)
        realtime.changed([job], self.store)
        return job

    def retry(self, name: str, by: str | None = None, run_after: datetime | timedelta | float | None = None) -> Job:
        job = super().retry(name, by, run_after)
        realtime.changed([job], self.store)
        return job


class RunnersEngine(SiteEngine):
    """For runners and the tick: connections of its own, beside frappe.db, on which handlers write."""

    def __init__(self, store: SiteStore):
        super().__init__(store)
        self._desk = Desk()
        self._admission = store.admission = Admission(store)
        self._around = Around()
        self.afterwards = afterwards.Afterwards(store)
        self.before_a_handler: Callable[[], None] = lambda: None
        self.when_it_takes_long: Callable[[], None] = lambda: None

    @classmethod
    def for_runners(cls, alone: bool | None = None, queue: str | None = None) -> RunnersEngine:
        """`alone`: for a runner of one isolated job (True) or of all others (False); `queue`: that it is about to claim from."""
        store = SiteStore(site_dialect())
        store.alone = alone
        with store.session() as session:
            store.lease_seconds = store.brief(session, queue).settings.engine.lease_seconds
        return cls(store)

    def new_group(self, worker_id: str) -> Group:
        return SiteGroup(self.store, worker_id, self.settings, self.judge, self._desk, self._around, self._committed)

    def perform(self, attempt: Attempt, context: JobContext) -> Any:
        job = attempt.job
        self._admission.check(job)
        told = describe(attempt)
        self._desk.lay_for(told.user, told)
        self.before_a_handler()
        return self._around.call(attempt, context)

    def ended(self) -> None:
        self._around.follow_up()

    def progressed(self, job: Job, percent: float, message: str | None) -> None:
        self.afterwards.publisher.progressed(job, percent, message)

    def takes_long(self, job: Job) -> None:
        self.afterwards.publisher.started(job)
        self.when_it_takes_long()

    def _committed(self, outcomes: list[Outcome]) -> None:
        self.afterwards.tell(outcomes)
        wakeups.wake_dependents(self, [o.name for o in outcomes])
