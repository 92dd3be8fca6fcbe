"""Questions to the site's own tables: in the caller's transaction on frappe.db, or on a connection of the engine's.

A runner asks on its own connection: what it wants to know before a handler starts must be no part of the handler's transaction,
and frappe.db need not be connected for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import frappe

from job_engine.store.session import Session


def ask(question: str, values: Sequence[Any] = (), session: Session | None = None) -> Sequence[tuple[Any, ...]]:
    """The rows that answer. Names are quoted with backticks, as in Frappe's own SQL."""
    if session is None:
        return frappe.db.sql(question, values)  # type: ignore[no-any-return]
    return session.rows(question.replace("`", session.dialect.quote), values)
