"""Who may do what. An unknown job and a job of somebody else are the same to the caller: nobody learns which names exist."""

from __future__ import annotations

import frappe
from frappe import _

from job_engine.api.errors import Forbidden, InvalidArgument, TypeDisabled
from job_engine.core.errors import JobNotFound, UnknownJobType
from job_engine.core.job import Job
from job_engine.core.job_type import JobType
from job_engine.site import engine, tenancy
from job_engine.site.job_types import Overrides
from job_engine.site.permissions import hidden_types

READERS = ("Job User", "Job Manager", "System Manager")
MANAGERS = ("Job Manager", "System Manager")


def is_manager() -> bool:
    return not set(MANAGERS).isdisjoint(frappe.get_roles())


def sees_everything() -> bool:
    return tenancy.sees_everything(frappe.session.user)


def check_role(managers: bool) -> None:
    """Also whether the account is enabled: Frappe does not ask that of somebody who comes with an API key."""
    if not frappe.db.get_value("User", frappe.session.user, "enabled"):
        raise Forbidden(_("Your account is disabled."))
    needed = MANAGERS if managers else READERS
    if set(needed).isdisjoint(frappe.get_roles()):
        raise Forbidden(_("This needs one of the roles: {0}.").format(", ".join(_(role) for role in needed)))


def check_operator(what: str) -> None:
    """For what concerns every organization."""
    if not sees_everything():
        raise Forbidden(_("{0} concerns every organization: only a System Manager may do this.").format(what))


def hidden() -> frozenset[str]:
    """The job types that the caller may not see."""
    return frozenset() if sees_everything() else hidden_types(frappe.session.user)


# Jobs ----------------------------------------------------------------------------------------------------------------------


def visible(name: str) -> Job:
    """The job, if the caller may see it."""
    job = engine().store.get(name)
    if job is None or not may_see(job):
        raise JobNotFound(_("There is no job {0} that you may see.").format(name), name=name)
    return job


def may_see(job: Job) -> bool:
    return tenancy.may_act_for(frappe.session.user, job.organization or "") and job.job_type not in hidden()


# Types ---------------------------------------------------------------------------------------------------------------------


def known_type(name: str) -> JobType:
    """A registered type, if the caller may see it. A function's dotted path is not one, whatever it leads to."""
    found = engine().registry.get(name)
    if found is None or name in hidden():
        raise unknown_type(name)
    return found


def unknown_type(name: str) -> UnknownJobType:
    return UnknownJobType(
        _("No job type is called {0!r}. Only registered types can be named here, never a function's path.").format(
            name
        ),
        job_type=name,
    )


def submittable_type(name: str) -> JobType:
    found = known_type(name)
    if name in Overrides.current().disabled:
        raise TypeDisabled(_("Job type {0} is disabled. An administrator can enable it.").format(name))
    role = Overrides.current().submit_roles.get(name)
    if role and not sees_everything() and role not in frappe.get_roles():
        raise Forbidden(_("To submit jobs of type {0} you need the role {1}.").format(name, role))
    return found


# Organizations -------------------------------------------------------------------------------------------------------------


def organization_to_act_for(given: str | None) -> str:
    """The one that is named, or the caller's own."""
    name = tenancy.required_organization(frappe.session.user, given or None)
    check_organization(name)
    return name


def check_organization(name: str) -> None:
    if not tenancy.may_act_for(frappe.session.user, name):
        raise Forbidden(_("You may not act for the organization {0}.").format(name))
    if sees_everything() and not tenancy.exists(name):
        raise InvalidArgument(_("There is no {0} {1}.").format(tenancy.tenant_doctype(), name))


def organization_to_look_at(given: str | None) -> str | None:
    """The one that is named; without a name, for those who see everything, all of them (None)."""
    if given or not sees_everything():
        return organization_to_act_for(given)
    return None
