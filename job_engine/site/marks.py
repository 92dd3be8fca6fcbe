"""How far somebody has read the jobs that ended: one row for each reader, in the table of the controls.

Whoever moves a mark holds its row until the transaction ends, so what was done for the jobs up to it is committed with it: once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import frappe

from job_engine.site.store import CLOCK_MARGIN, SiteStore

SCOPE = "read up to"  # no scope of a pause or a limit
SETTLED = timedelta(seconds=5)  # a transaction that writes an end may commit so much later
MOST = 20_000  # at once; the others come with the next look

_WHERE = "WHERE scope = %s AND target = %s"


def take(reader: str, now: Any) -> Any | None:
    """The reader's mark, held for this transaction. None: another process has it just now. New readers begin now."""
    held = read(reader, " FOR UPDATE SKIP LOCKED")
    if held is None and read(reader) is None:
        conflict = (
            "ON CONFLICT DO NOTHING" if frappe.db.db_type == "postgres" else "ON DUPLICATE KEY UPDATE scope = scope"
        )
        frappe.db.sql(
            f"INSERT INTO `__job_engine_control` (scope, target, tokens_at) VALUES (%s, %s, %s) {conflict}",
            (SCOPE, reader, now),
        )
        held = read(reader)
    return held


def move(reader: str, to: Any) -> None:
    frappe.db.sql(f"UPDATE `__job_engine_control` SET tokens_at = %s {_WHERE}", (to, SCOPE, reader))


def read(reader: str, lock: str = "") -> Any | None:
    found = frappe.db.sql(f"SELECT tokens_at FROM `__job_engine_control` {_WHERE}{lock}", (SCOPE, reader))
    return found[0][0] if found else None


def dead_letters_since(mark: Any, store: SiteStore, columns: str) -> tuple[Sequence[Any], Any]:
    """The jobs that entered Dead Letter after the mark and are still there, and the mark behind them.

    None of the last seconds: one that ended earlier may be committed after it. None while the site's clock repeats an hour.
    """
    now = store.now()
    if store.dialect.repeats_an_hour(now, CLOCK_MARGIN):
        return [], mark
    until = store.dialect.local(now - SETTLED)
    rows = frappe.db.sql(
        f"SELECT name, ended_at, {columns} FROM `tabBackground Job` WHERE status = 'Dead Letter'"
        f" AND ended_at > %s AND ended_at <= %s ORDER BY ended_at LIMIT {MOST}",
        (mark, until),
        as_dict=True,
    )
    if len(rows) < MOST:
        return rows, max(mark, until)
    last = rows[-1].ended_at  # there may be more of this moment: they come together with the next look
    kept = [row for row in rows if row.ended_at < last] or rows
    return kept, kept[-1].ended_at
