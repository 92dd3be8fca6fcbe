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

from job_engine.site import job_types, settings
from job_engine.site.asking import ask
from job_engine.site.dialects import OnASite
from job_engine.site.job_types import Overrides
from job_engine.site.settings import SiteSettings
from job_engine.store.controls import COLUMNS as CONTROL_COLUMNS
from job_engine.store.session import Session

NEW_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Briefing:
    read_at: float
    now: datetime  # without a zone, in UTC
    settings: SiteSettings
    overrides: Overrides
    controls: Sequence[Sequence[Any]]  # rows of CONTROL_COLUMNS

    def is_new(self) -> bool:
        """Whether it was read so short a time ago that asking again would hardly tell more."""
        return time.monotonic() - self.read_at < NEW_SECONDS


def read(session: Session) -> Briefing:
    """As it is in the database now. The rest of the process goes by the settings and overrides that were found."""
    found: dict[str, list[list[Any]]] = {"clock": [], "setting": [], "type": [], "control": []}
    for (text,) in ask(_question(session.dialect), session=session):
        part, *row = json.loads(text)
        found[part].append(row)
    return Briefing(
        time.monotonic(),
        datetime.fromisoformat(found["clock"][0][0]),
        settings.remember(found["setting"]),
        job_types.remember(found["type"]),
        [_with_time(row) for row in found["control"]],
    )


def _question(dialect: OnASite) -> str:
    """Rendered for each dialect once, by the session."""
    text_of = dialect.text_of
    controls = ", ".join(text_of(column) if column == "paused_at" else column for column in CONTROL_COLUMNS)
    return " UNION ALL ".join(
        "SELECT " + dialect.row_of(f"'{part}', {columns}") + rest
        for part, columns, rest in (
            ("clock", text_of(dialect.utc_now), ""),
            ("setting", settings.COLUMNS, settings.STORED),
            ("type", ", ".join(f"`{column}`" for column in job_types.COLUMNS), " FROM `tabJob Type`"),
            ("control", controls, " FROM {control}"),
        )
    )


def _with_time(control: Sequence[Any]) -> list[Any]:
    return [
        datetime.fromisoformat(value) if column == "paused_at" and value else value
        for column, value in zip(CONTROL_COLUMNS, control, strict=True)
    ]
