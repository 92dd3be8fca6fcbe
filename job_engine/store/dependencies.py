"""Parents and dependents. A dependent counts its parents that have not completed; at zero the tick may promote it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from job_engine.core.errors import InvalidJob, UnknownParent
from job_engine.core.language import _
from job_engine.core.states import Status
from job_engine.store.session import Session


def blockers(session: Session, parents: Sequence[str], organization: str | None) -> int:
    """How many of the parents have yet to complete. Raises when one is missing, in another organization, or canceled.

    Locks the parents against change until the caller commits: a parent that completes in this very moment either sees the
    new dependent or is seen as completed by it.
    """
    those, parameters = session.dialect.among("name", parents)
    rows = session.rows(f"SELECT name, organization, status FROM {{job}} WHERE {those}{{for_share}}", parameters)
    found = {name: status for name, theirs, status in rows if theirs == (organization or "")}
    for parent in parents:
        if parent not in found:
            if organization:
                said = _(
                    "There is no job {0} in organization {1} that this job could depend on. Enqueue the parent first."
                )
            else:
                said = _(
                    "There is no job {0} without an organization that this job could depend on. Enqueue the parent first."
                )
            raise UnknownParent(said.format(parent, organization), parent=parent)
        if found[parent] == Status.CANCELED:
            raise InvalidJob(_("Job {0}, which this job should depend on, is Canceled. Retry it first.").format(parent))
    return sum(status != Status.COMPLETED for status in found.values())


def add(session: Session, job: str, parents: Sequence[str]) -> None:
    session.insert("INSERT INTO {dependency} ({columns}) {source}", "job, parent", [(job, p) for p in parents])


def parents_of(session: Session, job: str) -> list[tuple[str, Status]]:
    rows = session.rows(
        "SELECT p.name, p.status FROM {dependency} d JOIN {job} p ON p.name = d.parent WHERE d.job = %s ORDER BY p.name",
        (job,),
    )
    return [(name, Status(status)) for name, status in rows]


def dependents_of(session: Session, parents: Sequence[str]) -> list[str]:
    those, parameters = session.dialect.among("parent", parents)
    return session.column(f"SELECT DISTINCT job FROM {{dependency}} WHERE {those} ORDER BY job", parameters)


def waiting_dependents(session: Session, parent: str) -> int:
    """How many jobs wait for this one."""
    return int(
        session.value(
            "SELECT COUNT(*) FROM {dependency} d JOIN {job} c ON c.name = d.job WHERE d.parent = %s AND c.status = 'Pending'",
            (parent,),
        )
    )


def unblock(session: Session, completed: Sequence[str], now: datetime) -> list[str]:
    """Recount the blockers of the jobs that waited for these; the names of those that wait no more."""
    waiting = dependents_of(session, completed)
    if not waiting:
        return []
    those, parameters = session.dialect.among("name", waiting)
    # Locked in order of name, so that two parents finishing at once count one after the other.
    session.rows(f"SELECT name FROM {{job}} WHERE {those} ORDER BY name{{for_update}}", parameters)
    their, parameters = session.dialect.among("d.job", waiting)
    left = dict(
        session.rows(
            "SELECT d.job, COUNT(*) FROM {dependency} d JOIN {job} p ON p.name = d.parent"
            f" WHERE {their} AND p.status <> 'Completed' GROUP BY d.job",
            parameters,
        )
    )
    at = session.dialect.to_db(now)
    session.many(
        "UPDATE {job} SET blockers = %s, modified = %s WHERE name = %s",
        [(left.get(name, 0), at, name) for name in waiting],
    )
    return [name for name in waiting if name not in left]
