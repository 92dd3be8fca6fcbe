"""Tables of a site that has been in use for long, made beside the empty ones: the two change places for each round."""

from __future__ import annotations

from datetime import timedelta

import frappe

from benchmarks.site import bench
from job_engine.runner import Runner
from job_engine.site import engine, enqueue_many
from job_engine.site.engines import RunnersEngine
from job_engine.site.tables import JOB, LOG
from job_engine.worker_id import new_worker_id

_ORGANIZATIONS, _TYPES, _USERS = 20, 5, 50
_DAYS = 20 * 86_400  # within the retention, or the housekeeping would prune them meanwhile

_is_full = False


def swap(full: bool) -> None:
    """Let the full tables, or the empty ones, be the site's."""
    global _is_full
    if full is _is_full:
        return
    now_there, aside = ("aside_empty", "aside_full") if full else ("aside_full", "aside_empty")
    moves = [f"`{table}` TO `{now_there} {table}`, `{aside} {table}` TO `{table}`" for table in (JOB, LOG)]
    frappe.db.commit()
    frappe.db.sql_ddl(f"RENAME TABLE {', '.join(moves)}")
    _is_full = full


def make(count: int) -> None:
    name = _completed_job()
    indexes = {table: _indexes(table) for table in (JOB, LOG)}
    for table, definitions in indexes.items():
        frappe.db.sql_ddl(f"DROP TABLE IF EXISTS `aside_full {table}`")
        frappe.db.sql_ddl(f"DROP TABLE IF EXISTS `aside_empty {table}`")
        frappe.db.sql_ddl(f"CREATE TABLE `aside_full {table}` LIKE `{table}`")
        dropped = ", ".join(f"DROP INDEX `{name}`" for name in definitions)
        frappe.db.sql_ddl(f"ALTER TABLE `aside_full {table}` {dropped}")
    back = f"INTERVAL (({count} - n) * {_DAYS} DIV {count}) SECOND"
    waited = (
        "INTERVAL (n * 7919 % 7200) SECOND"  # of all lengths: by no column are they in the order in which they came
    )
    organization, job_type = f"CONCAT('Organization ', n % {_ORGANIZATIONS})", f"CONCAT('type_', n DIV 7 % {_TYPES})"
    died, canceled = "n % 101 = 0", "n % 211 = 0"
    changed = {
        "name": "CONCAT(LEFT(name, 12), LPAD(CONV(n, 10, 36), 14, '0'))",
        "job_hash": "CONCAT(job_hash, n)",
        "organization": organization,
        "job_type": job_type,
        "user": f"CONCAT('user-', n % {_USERS}, '@example.com')",
        "priority": "ELT(1 + n % 4, 'Critical', 'High', 'Normal', 'Low')",
        "queue": "ELT(1 + n % 3, 'default', 'short', 'long')",
        "lane": f"CONCAT_WS('|', n % 4, ELT(1 + n % 3, 'default', 'short', 'long'), {organization}, {job_type})",
        "status": f"CASE WHEN {died} THEN 'Dead Letter' WHEN {canceled} THEN 'Canceled' ELSE status END",
        "error_type": f"CASE WHEN {died} THEN IF(n % 2, 'Transient', 'Permanent') END",
        "progress": f"IF({died} OR {canceled}, n % 97, progress)",
        "attempts": f"CASE WHEN {died} THEN 5 WHEN {canceled} THEN 0 ELSE 1 + (n % 17 = 0) + (n % 119 = 0) END",
        "max_attempts": "IF(n % 7, 5, 3)",
        "creation": f"creation - {back} - {waited}",
        "run_after": f"run_after - {back} - {waited} + INTERVAL (n % 600) SECOND",
        **{column: f"{column} - {back}" for column in ("modified", "started_at", "ended_at")},
    }
    _copy(JOB, f"name = '{name}'", count, changed)
    _copy(
        LOG,
        f"job = '{name}'",
        count,
        {"name": None, "job": changed["name"].replace("name", "job"), "creation": changed["creation"]},
    )
    for table, definitions in indexes.items():  # built from sorted rows, in a tenth of the time
        frappe.db.sql_ddl(f"ALTER TABLE `aside_full {table}` {', '.join(definitions.values())}")
        frappe.db.sql(f"ANALYZE TABLE `aside_full {table}`")
    frappe.db.commit()


def _indexes(table: str) -> dict[str, str]:
    """The secondary indexes of a table, and what adds each of them."""
    rows = frappe.db.sql(
        """SELECT index_name, MAX(non_unique), GROUP_CONCAT(CONCAT('`', column_name, '`') ORDER BY seq_in_index)
            FROM information_schema.statistics
            WHERE table_schema = DATABASE() AND table_name = %s AND index_name <> 'PRIMARY' GROUP BY index_name""",
        table,
    )
    return {name: f"ADD {'' if many else 'UNIQUE '}INDEX `{name}` ({columns})" for name, many, columns in rows}


def _copy(table: str, which: str, count: int, changed: dict[str, str | None]) -> None:
    columns = [
        column
        for column in frappe.db.get_table_columns(table.removeprefix("tab"))
        if changed.get(column, "") is not None
    ]
    values = ", ".join(changed.get(column) or f"`{column}`" for column in columns)
    listed = ", ".join(f"`{column}`" for column in columns)
    for start in range(0, count, 50_000):  # the log of one statement has its limits
        series = f"(SELECT seq AS n FROM seq_{start + 1}_to_{min(count, start + 50_000)}) series"
        frappe.db.sql(
            f"INSERT INTO `aside_full {table}` ({listed}) SELECT {values} FROM `{table}`, {series} WHERE {which}"
        )
        frappe.db.commit()


def _completed_job() -> str:
    """A job as a runner leaves it."""
    (job,) = enqueue_many("frappe.utils.data.now", [{}], organization=bench.organization("Pattern"), dedup_window=0)
    frappe.db.commit()
    runners = RunnersEngine.for_runners(alone=False)
    runner = Runner(runners, new_worker_id(), (job.queue,))
    try:
        while engine().get(job.name).status != "Completed":
            runner.run_batch(1)
            frappe.db.rollback()
    finally:
        runner.close()
        runners.close()
    return job.name


def count_them(count: int) -> None:
    """The counters that metrics read, as if the jobs had been counted one by one: an hour by minutes, the rest summed up."""
    store = engine().store
    frappe.db.sql("DELETE FROM `__job_engine_stat`")
    session = store.connections.open()
    now = store.dialect.local(store.now())
    per = count // (_ORGANIZATIONS * _TYPES)
    rows = []
    for organization in range(_ORGANIZATIONS):
        for job_type in range(_TYPES):
            whose = (f"type_{job_type}", f"Organization {organization}")
            rows.append(("2000-01-01", *whose, "Completed", 0, 0, per, float(per)))
            for minute in range(60):
                for event in ("claimed", "Completed"):
                    rows += [(f"-{minute}", *whose, event, bucket, 0, 3, 0.01) for bucket in (0, 1, 4)]
    values = [
        (
            now - timedelta(minutes=-int(at), seconds=now.second, microseconds=now.microsecond) if at[0] == "-" else at,
            *rest,
        )
        for at, *rest in rows
    ]
    session.many(
        "INSERT INTO {stat} (at, job_type, organization, event, bucket, shard, n, seconds)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        values,
    )
    frappe.db.commit()
