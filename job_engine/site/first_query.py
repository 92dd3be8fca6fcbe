"""Do something before the next statement on the site's connection, whatever sends it: Frappe's ORM or a bare cursor.

Most quick handlers send few statements or none. Those that send none need no savepoint.
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
    if connection is None:
        return
    if action is None:
        connection.__dict__.pop("query", None)
        return
    query = type(connection).query

    def first(*args: Any, **kwargs: Any) -> Any:
        connection.__dict__.pop("query", None)
        action()
        return query(connection, *args, **kwargs)

    connection.query = first
