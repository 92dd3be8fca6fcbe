"""What a runner must know of its site before it claims, asked in one question.

A runner starts while somebody waits for its job, and lives for seconds. One question for each of these would each cost a
round trip, and the driver as much again to read what the columns are. So each row of the answer is one text, in JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import frappe

from job_engine.site import job_types, settings, tenancy
from job_engine.site.dialects import OnASite
from job_engine.site.job_types import Overrides
from job_engine.site.settings import SiteSettings
from job_engine.site.tenancy import Suspension
from job_engine.store.controls import COLUMNS as CONTROL_COLUMNS
from job_engine.store.session import Session

NEW_SECONDS = 0.1

Question = tuple[str, Sequence[Any]]  # a template and its parameters


@dataclass(frozen=True, slots=True)
class Briefing:
    read_at: float
    now: datetime  # without a zone, in UTC
    settings: SiteSettings
    overrides: Overrides
    controls: Sequence[Sequence[Any]]  # rows of CONTROL_COLUMNS
    suspended: Sequence[str]  # organizations
    lanes: Sequence[str] | None  # in which something waits; None: not asked

    def is_new(self) -> bool:
        """Whether it was read so short a time ago that asking again would hardly tell more."""
        return time.monotonic() - self.read_at < NEW_SECONDS


def read(session: Session, lanes_walk: Question | None = None) -> Briefing:
    """As it is in the database now. The rest of the process goes by the settings and overrides that were found."""
    suspension = Suspension.known()
    found, lanes = _asked(session, suspension, lanes_walk)
    in_force = settings.remember(found["setting"])
    if suspension.doctype != tenancy.tenant_doctype():  # the settings have named another one since
        Suspension.forget()
        found, lanes = _asked(session, Suspension.known(), lanes_walk)
    return Briefing(
        time.monotonic(),
        datetime.fromisoformat(found["clock"][0][0]),
        in_force,
        job_types.remember(found["type"]),
        [_with_time(row) for row in found["control"]],
        [name for (name,) in found["suspended"]],
        lanes,
    )


def _asked(
    session: Session, suspension: Suspension, lanes_walk: Question | None
) -> tuple[dict[str, list[list[Any]]], list[str] | None]:
    walks = [] if lanes_walk is None else [lanes_walk]
    try:
        answer, *lanes = session.answers((_question(session.dialect, suspension), ()), *walks)
    except Exception as error:
        if not suspension.condition or not frappe.db.is_table_missing(error):
            raise
        Suspension.forget()  # the doctype was dropped since: its jobs say so when they run
        without = Suspension(suspension.doctype, "")
        answer, *lanes = session.answers((_question(session.dialect, without), ()), *walks)
    found: dict[str, list[list[Any]]] = {"clock": [], "setting": [], "type": [], "control": [], "suspended": []}
    for (text,) in answer:
        part, *row = json.loads(text)
        found[part].append(row)
    return found, [lane for (lane,) in lanes[0]] if lanes else None


def _question(dialect: OnASite, suspension: Suspension) -> str:
    controls = ", ".join(dialect.text_of(column) if column == "paused_at" else column for column in CONTROL_COLUMNS)
    parts = [
        ("clock", dialect.text_of(dialect.utc_now), ""),
        ("setting", settings.COLUMNS, settings.STORED),
        ("type", ", ".join(f"`{column}`" for column in job_types.COLUMNS), " FROM `tabJob Type`"),
        ("control", controls, " FROM {control}"),
    ]
    if suspension.condition:
        parts.append(("suspended", "name", f" FROM `tab{suspension.doctype}` WHERE {suspension.condition}"))
    question = " UNION ALL ".join(
        "SELECT " + dialect.row_of(f"'{part}', {columns}") + rest for part, columns, rest in parts
    )
    return question.replace("`", dialect.quote)


def _with_time(control: Sequence[Any]) -> list[Any]:
    return [
        datetime.fromisoformat(value) if column == "paused_at" and value else value
        for column, value in zip(CONTROL_COLUMNS, control, strict=True)
    ]
