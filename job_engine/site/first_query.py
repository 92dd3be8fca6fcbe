"""Do something before the next statement on the site's connection, whatever sends it: Frappe's ORM or a bare cursor.

Most quick handlers send few statements or none. Those that send none need no savepoint, and the first of them no connection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def on_first_query(db: Any, action: Callable[[], Any] | None) -> None:
    """Call `action` before the next statement, once. None: do not, after all."""
    if db.db_type == "postgres":  # psycopg2's connection is closed to us: every handler has its savepoint at once
        if action is not None:
            action()
        return
    connection = db._conn
    db.__dict__.pop("connect", None)
    if action is None:
        if connection is not None:
            connection.__dict__.pop("query", None)
        return
    if connection is None:
        _on_connect(db, action)
        return
    query = type(connection).query

    def first(*args: Any, **kwargs: Any) -> Any:
        connection.__dict__.pop("query", None)
        action()
        return query(connection, *args, **kwargs)

    connection.query = first


def _on_connect(db: Any, action: Callable[[], Any]) -> None:
    """frappe.db connects when it has a statement to send."""

    def connect() -> None:
        db.__dict__.pop("connect", None)
        db.connect()
        action()

    db.connect = connect
