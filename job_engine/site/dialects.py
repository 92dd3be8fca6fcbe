"""The engine's SQL on a site's own tables: the doctypes are the tables, and times are in the site's time zone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import frappe

from job_engine.site import settings
from job_engine.store.dialect import Dialect
from job_engine.store.mariadb import MariaDB, as_text

_TABLES = {
    "job": "tabBackground Job",
    "log": "tabJob Execution Log",
    "dependency": "__job_engine_dependency",
    "control": "__job_engine_control",
    "stat": "__job_engine_stat",
    "worker": "__job_engine_worker",
}


def tables(quote: str) -> dict[str, str]:
    return {"log_id": "name", **{word: f"{quote}{table}{quote}" for word, table in _TABLES.items()}}


class OnASite:
    """What sites on all databases have in common. Frappe stores times without a zone, in the site's own; the engine's are UTC."""

    owner_columns = ("owner", "modified_by")
    utc_now: str  # an expression

    def row_of(self, columns: str) -> str:
        """An expression: all of them in one column, as a list in JSON."""
        raise NotImplementedError

    def text_of(self, moment: str) -> str:
        """An expression: the moment in ISO's format, with six digits after the seconds."""
        raise NotImplementedError

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(settings.read().time_zone)

    def local(self, value: datetime) -> datetime:
        """The same moment as Frappe has it, and as its columns are read."""
        return value.astimezone(self.zone).replace(tzinfo=None)

    def to_db(self, value: datetime | None) -> Any:
        return None if value is None else self.local(value)

    def from_db(self, value: Any) -> datetime | None:
        return None if value is None else value.replace(tzinfo=self.zone).astimezone(timezone.utc)

    def from_clock(self, value: Any) -> datetime:
        return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)

    def repeats_an_hour(self, now: datetime, margin: timedelta) -> bool:
        """Whether the site's clock is about to be put back, or has just been: then no two stored times can be compared."""
        return any(_is_ambiguous(at.astimezone(self.zone)) for at in (now - margin, now, now + margin))


def _is_ambiguous(local: datetime) -> bool:
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


class SiteMariaDB(OnASite, MariaDB):
    quote = "`"
    utc_now = "UTC_TIMESTAMP(6)"
    clauses: ClassVar[dict[str, str]] = MariaDB.clauses

    def to_db(self, value: datetime | None) -> Any:
        return None if value is None else as_text(self.local(value))

    def __init__(self) -> None:
        login = frappe.local.db.get_connection_settings()  # host, port, TLS: as this site reaches its database
        kept = {key: value for key, value in login.items() if key not in ("conv", "charset", "use_unicode")}
        arguments: dict[str, Any] = {"host": "localhost", "port": 3306, **kept}
        super().__init__(arguments, tables(self.quote))
        # A doctype's Float and Percent are DECIMAL columns; the engine counts in floats.
        decimal = self._pymysql.constants.FIELD_TYPE.NEWDECIMAL
        self._arguments["conv"] = {**self._pymysql.converters.conversions, decimal: float}

    def row_of(self, columns: str) -> str:
        return f"CONVERT({self.packed(columns)} USING utf8mb4)"  # or a UNION of two collations would be refused

    def text_of(self, moment: str) -> str:
        return f"CAST({moment} AS CHAR)"

    def prepare_for_handlers(self, connection: Any) -> None:
        # From 11.6 on MariaDB refuses to change a row that was changed since the transaction's first look: the completion of
        # every job whose lease was extended while it ran.
        if _version(connection.get_server_info()) >= (11, 6):
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION innodb_snapshot_isolation = OFF")


def _version(server: str) -> tuple[int, ...]:
    """Of "11.8.2-MariaDB-log", or "5.5.5-10.11.6-MariaDB" as some tell it."""
    return tuple(int(number) for number in server.removeprefix("5.5.5-").partition("-")[0].split(".")[:2])


def site_dialect() -> Dialect:
    """The dialect of the current site's database."""
    if (frappe.local.conf.db_type or "mariadb") == "postgres":
        from job_engine.site.postgresql import SitePostgreSQL

        return SitePostgreSQL()
    return SiteMariaDB()
