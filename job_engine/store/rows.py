"""Rows to values and back."""

from __future__ import annotations

from collections.abc import Sequence
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
