"""PostgreSQL on a site: Frappe brings psycopg2, and so the engine speaks through that."""

from __future__ import annotations

from typing import Any, ClassVar

import frappe
import psycopg2
import psycopg2.extensions

from job_engine.site.dialects import OnASite, tables
from job_engine.store.dialect import Dialect
from job_engine.store.postgresql import PostgreSQL
from job_engine.store.waiting import BackoffWaiter, Waiter

# A doctype's Float and Percent are NUMERIC columns; the engine counts in floats.
_FLOATS = psycopg2.extensions.new_type(
    psycopg2.extensions.DECIMAL.values, "FLOAT", lambda text, cursor: None if text is None else float(text)
)


class SitePostgreSQL(OnASite, PostgreSQL):
    quote = '"'
    utc_now = "clock_timestamp() AT TIME ZONE 'UTC'"
    clauses: ClassVar[dict[str, str]] = PostgreSQL.clauses

    def __init__(self) -> None:
        Dialect.__init__(self, tables(self.quote))
        db = frappe.local.db
        self._login = {"user": db.user, "dbname": db.cur_db_name, "host": db.host, "password": db.password}
        if db.port:
            self._login["port"] = db.port
        self.address = f"postgresql:{db.host}:{db.port}/{db.cur_db_name}"

    def connect(self) -> Any:
        connection = psycopg2.connect(**self._login)
        connection.autocommit = True
        psycopg2.extensions.register_type(_FLOATS, connection)
        with connection.cursor() as cursor:
            cursor.execute("SET timezone = 'UTC'; SET enable_bitmapscan = off; SET enable_sort = off")
        return connection

    def row_of(self, columns: str) -> str:
        return f"json_build_array({columns})::text"

    def text_of(self, moment: str) -> str:
        return f"to_char({moment}, 'YYYY-MM-DD HH24:MI:SS.US')"

    def prepare_for_handlers(self, connection: Any) -> None:
        # Frappe's REPEATABLE READ would refuse the completion of every job whose lease was extended while it ran.
        connection.rollback()
        connection.set_isolation_level(psycopg2.extensions.ISOLATION_LEVEL_READ_COMMITTED)

    def cursor(self, connection: Any) -> Any:
        return connection.cursor()

    def waiter(self) -> Waiter:
        return BackoffWaiter(self.address)

    def announce(self, session: Any, queues: Any) -> None:
        """Runners are woken through Redis."""

    def is_disconnect(self, error: BaseException) -> bool:
        if isinstance(error, (psycopg2.OperationalError, psycopg2.InterfaceError)):
            state = getattr(error, "pgcode", None) or ""
            return not state or state.startswith(("08", "57P", "53"))
        return False

    def is_conflict(self, error: BaseException) -> bool:
        return getattr(error, "pgcode", None) in ("40001", "40P01")
