"""Pause and resume: one organization for its managers; types, queues and everything for System Managers."""

from __future__ import annotations

from typing import Literal

import frappe
from frappe import _

from job_engine.api import answers
from job_engine.api.arguments import reason_of
from job_engine.api.errors import Forbidden
from job_engine.api.method import method
from job_engine.api.permission import check_operator, known_type, organization_to_act_for, sees_everything
from job_engine.site import by_hand, engine, tenancy, wakeups

Scope = Literal["type", "queue", "organization", "everything"]


@method(changes=True, managers=True)
def pause(scope: Scope, target: str = "", reason: str | None = None) -> answers.Pausing:
    """Let no job be claimed until it is resumed. What runs goes on; what is submitted waits.

    scope: What is paused. Managers of an organization may pause that; the rest is for System Managers.
    target: Which type, queue or organization.
    reason: Shown by explain_job.
    """
    target = _target(scope, target)
    was = _is_paused(scope, target)
    engine().pause(scope, target, frappe.session.user, reason_of(reason))
    return {"scope": scope, "target": target, "paused": True, "changed": not was}


@method(changes=True, managers=True)
def resume(scope: Scope, target: str = "") -> answers.Pausing:
    """Undo a pause.

    scope: What was paused.
    target: Which type, queue or organization.
    """
    target = _target(scope, target)
    resumed = engine().resume(scope, target)
    by_hand.wake_after_commit(engine())
    return {"scope": scope, "target": target, "paused": False, "changed": resumed}


def _target(scope: str, target: str) -> str:
    """What is meant, if the caller may pause it."""
    if scope == "organization":
        name = organization_to_act_for(target)
        _check_not_an_operators(name)
        return name
    check_operator(_what(scope))
    if scope == "type" and target:
        known_type(target)
    if scope == "queue" and target:
        wakeups.check_queue(target)
    return target


def _what(scope: str) -> str:
    words = {
        "type": _("Pausing and resuming a type"),
        "queue": _("Pausing and resuming a queue"),
        "everything": _("Pausing everything"),
    }
    return words.get(scope, scope)  # what is no scope at all, the engine refuses


def _check_not_an_operators(organization: str) -> None:
    """What a System Manager has paused, an organization's own manager cannot resume, nor take over."""
    pause = engine().store.controls().pauses.get(("organization", organization))
    if pause is None or sees_everything() or not pause.by:
        return
    if tenancy.sees_everything(pause.by):
        raise Forbidden(
            _("{0} was paused by {1}: only a System Manager may change that.").format(organization, pause.by)
        )


def _is_paused(scope: str, target: str) -> bool:
    return (scope, target) in engine().store.controls().pauses
