"""What a doctype cannot say about its table, and the tables that have no doctype. Done again after every migrate.

Frappe creates the tables of Background Job and Job Execution Log from their doctypes. The engine's SQL needs more of them:
indexes over several columns, comparison by bytes, numbers that may be empty, a log whose rows number themselves. Whatever
is as it should be is left alone.
"""

from __future__ import annotations

from typing import ClassVar

import frappe

from job_engine.store import mariadb, postgresql
from job_engine.store.schema import index_definitions, table_definition

JOB = "tabBackground Job"
LOG = "tabJob Execution Log"
INTERNAL = {word: f"__job_engine_{word}" for word in ("dependency", "control", "stat", "worker")}

# For lists, in Desk and in the API: newest first, by what people filter by. `creation` never changes, so that a change of
# state touches one of them only.
_LIST_INDEXES = (
    ("INDEX", "job_list", "{job}", "creation", ""),
    ("INDEX", "job_list_organization", "{job}", "organization, creation", ""),
    ("INDEX", "job_list_type", "{job}", "job_type, creation", ""),
    ("INDEX", "job_list_user", "{job}", "`user`, creation", ""),
    ("INDEX", "job_list_status", "{job}", "organization, status, creation", ""),  # also counts who waits
)
_OPTIONAL_NUMBERS = ("duration", "processed", "failed")  # of the log; a doctype's numbers are 0 where there are none


def create() -> None:
    """Make the tables what the engine needs."""
    database = _PostgreSQL() if frappe.db.db_type == "postgres" else _MariaDB()
    database.shape()
    for word in INTERNAL:
        _change(table_definition(word, database.types_of(word)))
    for kind, name, table, columns, condition in (*index_definitions(database.partial_indexes), *_LIST_INDEXES):
        if name not in database.indexes_of_the_doctype:
            columns = "job, name" if name == "log_job" else database.longer.get(name, columns)
            where = f" WHERE {condition}" if condition else ""
            database.drop_unless(f"je_{name}", table, columns)
            _change(f"CREATE {kind} IF NOT EXISTS je_{name} ON {table} ({columns}){where}")
    database.tidy()


def drop() -> None:
    """Drop what has no doctype. After the doctypes' own tables: one of them has its numbers from the sequence."""
    for table in INTERNAL.values():
        _change(f"DROP TABLE IF EXISTS `{table}`")
    _change("DROP SEQUENCE IF EXISTS job_execution_log_id_seq")


class _MariaDB:
    partial_indexes = False
    # Frappe drops and adds indexes on one column by what the doctype says: these it makes itself, `dedup_slot` because
    # the field is unique and `creation` because lists are sorted by it.
    indexes_of_the_doctype: ClassVar = {"job_dedup_slot", "job_list"}
    # With columns that lists are sorted and filtered by, see sorting.py. A change of state writes these indexes anyway, and what
    # it changes besides, such as the attempts, costs nothing more there.
    longer: ClassVar = {
        "job_ended": "status, ended_at, started_at",
        "job_lease": "status, lease_expires_at, error_type, max_attempts, attempts, progress",
        "job_list_status": "organization, status, creation, job_type, `user`, attempts, max_attempts, progress, error_type,"
        " run_after, started_at, ended_at",
    }
    # Lanes are ranges of bytes, and a key is the same as another only if every byte is.
    _bytewise: ClassVar = {"lane": 460, "dedup_key": 140, "dedup_slot": 140, "job_hash": 140}

    def types_of(self, word: str) -> dict[str, str]:
        if word != "dependency":
            return mariadb.MariaDB.types
        # Joined with the doctype's `name`: with another collation than that has, no index would be used.
        suffix = mariadb.MariaDB.types["suffix"].replace("utf8mb4_nopad_bin", self._columns(JOB)["name"].collation)
        return {**mariadb.MariaDB.types, "suffix": suffix}

    def shape(self) -> None:
        job, log = self._columns(JOB), self._columns(LOG)
        changes = [
            f"MODIFY `{column}` varchar({length}) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
            for column, length in self._bytewise.items()
            if job[column].collation != "utf8mb4_nopad_bin"
        ]
        if changes:
            _change(f"ALTER TABLE {{job}} {', '.join(changes)}")
        changes = [
            f"MODIFY `{c}` {log[c].type} NULL DEFAULT NULL" for c in _OPTIONAL_NUMBERS if log[c].nullable == "NO"
        ]
        if "auto_increment" not in log["name"].extra:
            changes.append("MODIFY name bigint NOT NULL AUTO_INCREMENT")
        if changes:
            _change(f"ALTER TABLE {{log}} {', '.join(changes)}")

    def drop_unless(self, index: str, table: str, columns: str) -> None:
        """An index that an older version made of other columns."""
        found = frappe.db.sql(
            """SELECT column_name FROM information_schema.statistics
                WHERE table_schema = DATABASE() AND table_name = %s AND index_name = %s ORDER BY seq_in_index""",
            (_names()[table.strip("{}")].strip("`"), index),
            pluck=True,
        )
        if found and found != columns.replace("`", "").split(", "):
            _change(f"ALTER TABLE {table} DROP INDEX {index}")

    def tidy(self) -> None:
        # Frappe gives every table this one. Here nothing is looked up by it, and every change of state would pay for it.
        for table in ("{job}", "{log}"):
            _change(f"ALTER TABLE {table} DROP INDEX IF EXISTS modified")
        _change("CREATE INDEX IF NOT EXISTS creation ON {job} (creation)")  # only a later migrate would

    def _columns(self, table: str) -> dict[str, frappe._dict]:
        rows = frappe.db.sql(
            """SELECT column_name AS name, column_type AS type, collation_name AS collation, is_nullable AS nullable,
                extra AS extra FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s""",
            table,
            as_dict=True,
        )
        return {row.name: row for row in rows}


class _PostgreSQL:
    partial_indexes = True
    indexes_of_the_doctype: ClassVar = set()
    longer: ClassVar[dict[str, str]] = {}  # it sorts what it reads

    def drop_unless(self, index: str, table: str, columns: str) -> None:
        """No version has changed one."""

    def types_of(self, word: str) -> dict[str, str]:
        # The doctypes' own: columns of two collations cannot be compared, and times are the site's, without a zone.
        return {**postgresql.PostgreSQL.types, "key": "varchar(140)", "time": "timestamp(6)"}

    def shape(self) -> None:
        if self._collation("lane") != "C":
            _change('ALTER TABLE {job} ALTER COLUMN lane TYPE varchar(460) COLLATE "C"')
        nullable = [f"ALTER COLUMN {c} DROP NOT NULL, ALTER COLUMN {c} DROP DEFAULT" for c in _OPTIONAL_NUMBERS]
        numbered = "ALTER COLUMN name SET DEFAULT nextval('job_execution_log_id_seq')"
        _change(f"ALTER TABLE {{log}} {', '.join([*nullable, numbered])}")
        for statement in postgresql.PostgreSQL.tuning:
            _change(statement)

    def tidy(self) -> None:
        # The doctype says "unique" for MariaDB's sake. The index of ours leaves out the rows that have no slot: nearly all.
        _change(f'ALTER TABLE {{job}} DROP CONSTRAINT IF EXISTS "{JOB}_dedup_slot_key"')
        _change("DROP INDEX IF EXISTS unique_dedup_slot")

    def _collation(self, column: str) -> str | None:
        found = frappe.db.sql(
            """SELECT collation_name FROM information_schema.columns
                WHERE table_schema = current_schema() AND table_name = %s AND column_name = %s""",
            (JOB, column),
        )
        return found[0][0]


def _change(template: str) -> None:
    frappe.db.sql_ddl(template.format_map(_names()))


def _names() -> dict[str, str]:
    return {word: f"`{table}`" for word, table in {"job": JOB, "log": LOG, **INTERNAL}.items()}
