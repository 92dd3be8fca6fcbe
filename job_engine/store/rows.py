"""Rows to values and back."""

from __future__ import annotations

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
_CLAIMED = tuple(
    "name job_type priority queue organization user handler params run_after attempts max_attempts lost timeout job_hash"
    " dedup_key depends_on progress checkpoint last_error creation".split()
)
CLAIM_COLUMNS = ", ".join("{user}" if column == "user" else column for column in _CLAIMED)


def claimed_from_row(dialect: Dialect, row: Sequence[Any], worker_id: str, until: datetime, now: datetime) -> Job:
    read = dict(zip(_CLAIMED, row, strict=True))
    read["organization"] = read["organization"] or None
    read["run_after"] = dialect.from_db(read["run_after"])
    read["creation"] = dialect.from_db(read["creation"])
    return Job(
        **read,
        status=Status.RUNNING,
        blockers=0,
        progress_message=None,
        result=None,
        error_type=None,
        traceback=None,
        reason=None,
        lease_owner=worker_id,
        lease_expires_at=until,
        started_at=now,
        ended_at=None,
        cancel_requested_at=None,
        canceled_by=None,
        modified=now,
    )
