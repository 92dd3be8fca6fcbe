"""`bench --site S job-engine seed`: a believable site to look at, and the way back.

Whatever it makes belongs to organizations of its own, which the site's configuration remembers: that is what `remove` takes
away, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import frappe
from frappe.installer import update_site_config

from job_engine.core.errors import JobEngineError
from job_engine.site import job_types, organization, seed_moment, seed_story, tenancy
from job_engine.site.seed_lives import Story
from job_engine.site.seed_plan import ORGANIZATIONS, ROUTINES, slug
from job_engine.store import controls, workers
from job_engine.store.session import Session

if TYPE_CHECKING:
    from datetime import datetime

    from job_engine.engine import Engine

MODULE = "job_engine.site.seed_types"
REMEMBERED = "job_engine_seeded"  # in the site's configuration
JOBS = 12_000
SEED = 1
_ROWS = 500  # in a statement

_JOB_COLUMNS = (
    "name", "job_type", "status", "priority", "queue", "organization", "user", "params", "run_after", "attempts",
    "max_attempts", "timeout", "job_hash", "lane", "creation", "modified", "depends_on", "blockers", "progress",
    "progress_message", "result", "last_error", "error_type", "traceback", "reason", "lease_owner", "lease_expires_at",
    "started_at", "ended_at", "canceled_by",
)  # fmt: skip
_LOG_COLUMNS = (
    "job", "creation", "from_status", "to_status", "attempt", "actor", "worker", "claimed_at", "duration", "error_type",
    "error", "reason",
)  # fmt: skip
_NUMBERS = ("blockers", "progress")  # that a doctype does not leave empty


def is_seeded() -> bool:
    return bool(frappe.local.conf.get(REMEMBERED))


def seed(engine: Engine, jobs: int = JOBS) -> int:
    """Make everything, in one transaction. Returns how many jobs there are."""
    _check()
    _register()
    try:
        people = _make_people()
        story = seed_story.tell(engine.registry, engine.store.now(), jobs, SEED)
        with engine.store.session() as session, session.transaction():
            _write(session, story, engine.store.now())
        _remember(people)
    except BaseException:
        frappe.db.rollback()
        _unregister()
        raise
    return len(story.jobs)


def remove(engine: Engine) -> int:
    """Take everything away again. Returns how many jobs there were."""
    remembered = frappe.local.conf.get(REMEMBERED)
    if not remembered:
        return 0
    with engine.store.session() as session, session.transaction():
        removed = _forget_jobs(session, list(remembered["organizations"]))
    _forget_people(remembered)
    _unregister()
    for name in ROUTINES:
        frappe.db.delete("Job Type", {"name": name})
    frappe.db.commit()
    update_site_config(REMEMBERED, "None")
    frappe.local.conf.pop(REMEMBERED, None)
    return removed


def _check() -> None:
    if is_seeded():
        raise JobEngineError("This site is seeded already. With --again it is seeded anew, with --remove no longer.")
    if not organization.is_ours(tenancy.tenant_doctype()):
        raise JobEngineError(
            f"The organizations of this site are {tenancy.tenant_doctype()} documents, which the seed does not make."
            " Seed a site of its own: bench new-site demo.localhost --install-app job_engine"
        )
    there = [name for name in ORGANIZATIONS if frappe.db.exists(organization.NAME, name)]
    if there:
        raise JobEngineError(
            f"There is an organization {there[0]} already, which is not the seed's. Nothing was changed."
        )


# Types ---------------------------------------------------------------------------------------------------------------------


def _register() -> None:
    """In the site's configuration, so that every process of the bench knows the types from its next request or job on."""
    named = list(frappe.local.conf.get("job_types") or [])
    if MODULE not in named:
        update_site_config("job_types", [*named, MODULE])
        frappe.local.conf.job_types = [*named, MODULE]
    job_types.sync()


def _unregister() -> None:
    named = [module for module in frappe.local.conf.get("job_types") or [] if module != MODULE]
    update_site_config("job_types", named or "None")
    frappe.local.conf.job_types = named


# People --------------------------------------------------------------------------------------------------------------------


def _make_people() -> list[str]:
    """For each organization a manager and a user. They have no password: an administrator gives them one."""
    made = []
    for name in ORGANIZATIONS:
        frappe.get_doc(doctype=organization.NAME, organization_name=name).insert(ignore_permissions=True)
        for role in ("manager", "user"):
            email = f"{role}@{slug(name)}.example.com"
            user = frappe.get_doc(
                doctype="User", email=email, first_name=f"{name} {role.title()}", send_welcome_email=0
            )
            user.append("roles", {"role": f"Job {role.title()}"})
            user.flags.no_welcome_mail = True
            user.insert(ignore_permissions=True)
            frappe.get_doc(
                doctype="User Permission", user=email, allow=organization.NAME, for_value=name, is_default=1
            ).insert(ignore_permissions=True)
            made.append(email)
    return made


def _remember(people: list[str]) -> None:
    frappe.db.commit()
    remembered = {"organizations": list(ORGANIZATIONS), "users": people}
    update_site_config(REMEMBERED, remembered)
    frappe.local.conf[REMEMBERED] = remembered


def _forget_people(remembered: dict[str, Any]) -> None:
    for user in remembered["users"]:
        frappe.db.delete("Notification Log", {"for_user": user})
        frappe.db.delete("User Permission", {"user": user})
        frappe.delete_doc("User", user, ignore_missing=True, force=True, ignore_permissions=True)
    for name in remembered["organizations"]:
        frappe.delete_doc(organization.NAME, name, ignore_missing=True, force=True, ignore_permissions=True)


# Rows ----------------------------------------------------------------------------------------------------------------------


def _write(session: Session, story: Story, now: datetime) -> None:
    owners = session.dialect.owner_columns
    columns = ", ".join(("{user}" if c == "user" else c) for c in (*_JOB_COLUMNS, *owners))
    rows = ((*_row(session, job, _JOB_COLUMNS), *[job["user"]] * len(owners)) for job in story.jobs)
    _insert(session, "INSERT INTO {job} ({columns}) {source}", session.dialect.sql(columns), rows)
    rows = (_row(session, entry, _LOG_COLUMNS) for entry in sorted(story.log, key=lambda entry: entry["creation"]))
    _insert(session, "INSERT INTO {log} ({columns}) {source}", ", ".join(_LOG_COLUMNS), rows)
    _insert(session, "INSERT INTO {dependency} ({columns}) {source}", "job, parent", iter(story.dependencies))
    columns = "at, job_type, organization, event, bucket, shard, n, seconds"
    rows = ((session.dialect.to_db(at), *rest) for at, *rest in seed_story.counter_rows(story, now))
    _insert(session, session.dialect.upsert_stat, columns, rows)
    for worker in story.workers:
        workers.sign_in(session, worker)
    controls.pause(session, "type", seed_moment.PAUSED_TYPE, "Administrator", seed_moment.PAUSED_FOR, now)


def _row(session: Session, values: dict[str, Any], columns: Sequence[str]) -> tuple[Any, ...]:
    to_db = session.dialect.to_db
    return tuple(
        to_db(value) if hasattr(value, "astimezone") else value
        for value in (values.get(c, 0 if c in _NUMBERS else None) for c in columns)
    )


def _insert(session: Session, statement: str, columns: str, rows: Iterator[Sequence[Any]]) -> None:
    while batch := list(islice(rows, _ROWS)):
        session.insert(statement, columns, batch)


def _forget_jobs(session: Session, organizations: list[str]) -> int:
    """Also what was done there since: jobs of these organizations that somebody has enqueued to try it out."""
    those, names = session.dialect.among("organization", organizations)
    for table, column in (("{log}", "job"), ("{dependency}", "job")):
        session.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT name FROM {{job}} WHERE {those})", names)
    removed = session.change(f"DELETE FROM {{job}} WHERE {those}", names)
    session.execute(f"DELETE FROM {{stat}} WHERE {those}", names)
    session.execute("DELETE FROM {worker} WHERE name LIKE %s", (f"{seed_story.HOST}-%",))
    targets, values = session.dialect.among("target", [*organizations, *ROUTINES])
    session.execute(f"DELETE FROM {{control}} WHERE {targets} AND scope IN ('type', 'organization')", values)
    return removed
