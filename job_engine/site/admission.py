"""Whether a job may still run: its user, its organization and its type may have changed since it was enqueued."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import frappe
from frappe import _

from job_engine.core.errors import PermanentError
from job_engine.core.job import Job
from job_engine.site import tenancy
from job_engine.site.asking import ask
from job_engine.site.job_types import Overrides
from job_engine.store.session import Session
from job_engine.store.sql import SqlStore

FRESH_SECONDS = 1.0
_NEVER = (-math.inf, None, False)


class NotAdmitted(PermanentError):
    """The job may not run any more."""


class Admission:
    """Remembers for a second what it found, so that a flood of alike jobs asks once."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._found: dict[tuple[str, str | None, str], tuple[float, str | None, bool]] = {}
        self._looked: dict[tuple[str, str | None], _Found | None] = {}

    def look_ahead(self, session: Session, job: Job) -> None:
        """Look for a job that is just being claimed, unless its like was looked for a moment ago."""
        self._looked = {}
        user = job.user or "Administrator"
        at, *_ = self._found.get((user, job.organization, job.job_type), _NEVER)
        if time.monotonic() - at > FRESH_SECONDS:
            self._looked = {(user, job.organization): _look(session, user, job.organization)}

    def check(self, job: Job) -> None:
        """Raise NotAdmitted, with the reason, where the job may not run."""
        user = job.user or "Administrator"
        key = (user, job.organization, job.job_type)
        at, refusal, forgivable = self._found.get(key, _NEVER)
        if time.monotonic() - at > FRESH_SECONDS:
            refusal, forgivable = _refusal(self._look(user, job.organization), *key)
            self._found[key] = time.monotonic(), refusal, forgivable
        if refusal is not None and not (forgivable and _is_trusted(job.name)):
            raise NotAdmitted(refusal)

    def _look(self, user: str, organization: str | None) -> _Found | None:
        looked, self._looked = self._looked, {}
        if (user, organization) in looked:
            return looked[user, organization]
        with self._store.session() as session:
            return _look(session, user, organization)


def _refusal(found: _Found | None, user: str, organization: str | None, job_type: str) -> tuple[str | None, bool]:
    """Why such a job may not run, and whether that is forgiven to server code, which asked for no permission."""
    if found is None:
        return _("User {0} does not exist any more.").format(user), False
    if not found.is_enabled:
        return _("User {0} is disabled.").format(user), False
    if organization is not None and not found.has_doctype:
        return _(
            "Organization not found: the doctype {0}, of which {1} was one, does not exist any more."
            " Name another one in Job Engine Settings, then retry the job."
        ).format(tenancy.tenant_doctype(), organization), False
    if organization is not None and not found.has_organization:
        return _("Organization not found: {0} was deleted.").format(organization), False
    if not tenancy.may_act_for(user, organization):
        return _("User {0} no longer has the permission of organization {1}.").format(user, organization), True
    role = Overrides.current().submit_roles.get(job_type)
    if role and role not in frappe.get_roles(user):
        return _("User {0} no longer has the role {1}, which jobs of type {2} need.").format(user, role, job_type), True
    return None, False


class _Found(NamedTuple):
    is_enabled: bool  # the user
    has_doctype: bool  # the site, for its organizations
    has_organization: bool


def _look(session: Session, user: str, organization: str | None) -> _Found | None:
    """What there is of a job's user and organization; None where there is no such user."""
    doctype = tenancy.tenant_doctype()
    question = "SELECT enabled, EXISTS(SELECT 1 FROM `tabDocType` WHERE name = %s), {0} FROM `tabUser` WHERE name = %s"
    there = f"EXISTS(SELECT 1 FROM `tab{doctype}` WHERE name = %s)"
    try:
        rows = ask(question.format(there), (doctype, organization, user), session)
    except Exception as error:
        if not frappe.db.is_table_missing(error):
            raise
        rows = ask(question.format("0"), (doctype, user), session)  # dropped, with the app that had brought it
    return _Found(*map(bool, rows[0])) if rows else None


def _is_trusted(name: str) -> bool:
    found = frappe.db.sql("SELECT trusted FROM `tabBackground Job` WHERE name = %s", name)
    return bool(found and found[0][0])
