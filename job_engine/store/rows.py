"""Rows to values and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from job_engine.core.job import COLUMNS, TIME_COLUMNS, Job
from job_engine.core.states import Status
from job_engine.store.dialect import Dialect

JOB_COLUMNS = ", ".join("{user}" if column == "user" else column for column in COLUMNS)

_STATUS = COLUMNS.index("status")
_ORGANIZATION = COLUMNS.index("organization")
_TIMES = tuple(i for i, column in enumerate(COLUMNS) if column in TIME_COLUMNS)
_STATUSES = {status.value: status for status in Status}


def job_from_row(dialect: Dialect, row: Sequence[Any]) -> Job:
    values = list(row)
    values[_STATUS] = _STATUSES[values[_STATUS]]
    values[_ORGANIZATION] = values[_ORGANIZATION] or None
    for i in _TIMES:
        if values[i] is not None:
            values[i] = dialect.from_db(values[i])
    return Job(*values)


# A claim reads what a handler may ask for; the rest it has just written, or is empty in a job that starts.
CLAIM_COLUMNS = (
    "name, job_type, priority, queue, organization, {user}, handler, params, run_after, attempts, max_attempts, lost,"
    " timeout, job_hash, dedup_key, depends_on, progress, checkpoint, last_error, creation"
)
_RUN_AFTER, _CREATION = 8, 19  # where they are among these


def unpacked(text: str | None) -> list[Any] | None:
    """A row of CLAIM_COLUMNS that came as one text; None where it was too long for that."""
    if text is None:
        return None
    row: list[Any] = json.loads(text)
    row[_RUN_AFTER] = datetime.fromisoformat(row[_RUN_AFTER])
    row[_CREATION] = datetime.fromisoformat(row[_CREATION])
    return row


def claimed_from_row(
    dialect: Dialect, row: Sequence[Any], worker_id: str, until: datetime, now: datetime, more_attempts: int
) -> Job:
    """By position, in the order of Job's fields: this is run for every job, and keywords take twice as long."""
    run_after, creation = dialect.from_db(row[_RUN_AFTER]), dialect.from_db(row[_CREATION])
    assert run_after is not None and creation is not None
    # fmt: off
    return Job(
        row[0], row[1], Status.RUNNING, row[2], row[3], row[4] or None, row[5], row[6], row[7], run_after,
        row[9] + more_attempts, row[10], row[11], row[12], row[13], row[14], row[15],
        0, row[16], None, None, row[17], row[18],  # blockers, progress, its message, result, checkpoint, last_error
        None, None, None, worker_id, until, now, None, None, None,  # error_type to canceled_by
        creation, now,
    )
    # fmt: on
