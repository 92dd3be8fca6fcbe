"""Statements that end the transaction without a word to Frappe's callbacks: COMMIT as plain SQL, a change of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frappe.database.utils import is_query_type

_ENDS = ("commit", "rollback")
# MariaDB commits before each of these. PostgreSQL does not: there they are part of the transaction.
_COMMITS_FIRST = (
    "start", "begin", "alter", "create", "drop", "truncate", "rename", "lock", "unlock", "analyze", "optimize", "repair",
)  # fmt: skip


def before_the_end(db: Any, action: Callable[[str], None] | None) -> None:
    """Call `action` with the first word of such a statement, before frappe.db sends it. None: do not any more."""
    if action is None:
        db.__dict__.pop("check_implicit_commit", None)
        return
    check = type(db).check_implicit_commit  # Frappe asks it of every statement
    ending = _ENDS if db.db_type == "postgres" else (*_ENDS, *_COMMITS_FIRST)

    def look(query: str) -> None:
        if query and is_query_type(query, ending) and not _goes_back_to_a_savepoint(query):
            action(query.split(maxsplit=1)[0].lower().rstrip(";"))
        check(db, query)

    db.check_implicit_commit = look


def _goes_back_to_a_savepoint(query: str) -> bool:
    return is_query_type(query, "rollback") and " to " in query.lower()
