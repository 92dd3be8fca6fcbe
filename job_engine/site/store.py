"""The site's store: the SQL store, with what a site adds to the controls and to the tick."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from job_engine.core.clock import DatabaseClock
from job_engine.core.errors import StoreUnavailable
from job_engine.core.job import Job
from job_engine.core.language import _
from job_engine.core.priority import Lane, lane_ranges
from job_engine.core.registry import Registry
from job_engine.site import briefing
from job_engine.site.admission import Admission
from job_engine.site.briefing import Briefing
from job_engine.site.job_types import isolated
from job_engine.store import controls
from job_engine.store.claiming import MOST_LANES
from job_engine.store.controls import Controls, Key, Pause
from job_engine.store.session import Session
from job_engine.store.sql import SqlStore

CLOCK_MARGIN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class SiteControls(Controls):
    """What is paused, and which jobs are not for this runner."""

    isolated: frozenset[str]  # types whose jobs each have a process of their own
    alone: bool | None  # True: a runner of one isolated job; False: of all others; None: somebody who only looks

    def pause_of(self, lane: Lane) -> Pause | None:
        pause = Controls.pause_of(self, lane)
        if pause is None and self.alone is not None and (lane.job_type in self.isolated) is not self.alone:
            return Pause("type", lane.job_type, None, None, "another kind of runner takes it")
        return pause


class SiteStore(SqlStore):
    alone: bool | None = None
    registry: Registry  # of the engine that has this store
    admission: Admission | None = None  # of a runner's
    _briefing: Briefing | None = None  # read at the start of a runner

    def brief(self, session: Session, queue: str | None = None) -> Briefing:
        """Ask for all that a runner must know, of one queue what waits there. A claim that follows at once goes by it."""
        walk = None if queue is None else self.dialect.lanes_walk(lane_ranges((queue,)), MOST_LANES)
        known = self._briefing = briefing.read(session, walk)
        if isinstance(self.now, DatabaseClock):
            self.now.told(known.now)
        return known

    def waiting_lanes(self, session: Session, ranges: Sequence[tuple[str, str]], most: int) -> Sequence[str]:
        known = self._briefing
        if known is None or known.lanes is None or not known.is_new():
            return SqlStore.waiting_lanes(self, session, ranges, most)
        self._briefing = replace(known, lanes=None)  # the next claim looks anew
        return known.lanes

    def ask_with_claim(self, session: Session, first: Job) -> None:
        """Whether the first of the jobs may run. A question that fails does not undo the claim, which is committed by then: it is
        asked again when the job starts, and then it is the job that fails.
        """
        if self.admission is None:
            return
        try:
            self.admission.look_ahead(session, first)
        except Exception as error:
            dialect = self.dialect
            if (
                isinstance(error, StoreUnavailable)
                or dialect.is_conflict(error)
                or dialect.in_transaction(session.connection)
            ):
                raise

    def controls(self) -> Controls:
        self._briefing = None  # whoever asks by themselves may have paused something a moment ago
        return SqlStore.controls(self)

    def controls_on(self, session: Session) -> Controls:
        """Beside what an operator has paused: disabled types, suspended organizations, the whole site by its settings."""
        known = self._briefing if self._briefing and self._briefing.is_new() else self.brief(session)
        self._briefing = None  # the next claim asks again: what is paused now is not claimed
        in_force = controls.of_rows(known.controls, self.code_limits(), self.dialect)
        pauses = {
            **in_force.pauses,
            **_paused("type", known.overrides.disabled, _("the job type is disabled")),
            **_paused("organization", known.suspended, _("the organization is suspended")),
            **_paused("everything", [""] if known.settings.paused else [], _("Job Engine Settings pause everything")),
        }
        return SiteControls(pauses, in_force.limits, isolated(self.registry), self.alone)

    def _wake_idle_workers(self) -> None:
        """There are none in this process: runners are woken through Redis, once the caller commits."""

    def rescue(self) -> int:
        """Not while the site's clock repeats an hour: a lease would look expired that is not."""
        if self.dialect.repeats_an_hour(self.now(), CLOCK_MARGIN):
            return 0
        return SqlStore.rescue(self)


def _paused(scope: str, targets: Iterable[str], reason: str) -> dict[Key, Pause]:
    return {(scope, target): Pause(scope, target, None, None, reason) for target in targets}
