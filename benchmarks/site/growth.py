"""A table that has been in use for long: does the drain slow down, and do people wait for lists and numbers?

The full tables are made beside the empty ones, and the two change places for each round, so that both are measured in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from statistics import median
from time import perf_counter
from typing import Any

import frappe

from benchmarks import report
from benchmarks.report import Figure
from benchmarks.rounds import Entry, Plan, take_turns
from benchmarks.site import bench
from benchmarks.site.contenders import Ours
from job_engine.runner import Runner
from job_engine.site import engine, enqueue_many, list_calls, listing
from job_engine.site.engines import RunnersEngine
from job_engine.site.tables import JOB, LOG
from job_engine.worker_id import new_worker_id

_GROUP = "Growth"
_AT_LEAST = 0.8
_MOST_MS = 300.0
_ORGANIZATIONS, _TYPES, _USERS = 20, 5, 50
_LOOKS = 5
_DAYS = 20 * 86_400  # within the retention, or the housekeeping would prune them meanwhile


def measure(plan: Plan) -> Iterator[Figure]:
    table = f"{plan.history:,} finished jobs"
    with plan.console.status(f"making {table}"):
        _make_full_tables(plan.history)
    try:
        grown, empty = take_turns(plan, [Entry(_grown), Entry(_empty)])
        yield report.ratio(_GROUP, f"drain with {table} in the table", grown, empty, "an empty table", _AT_LEAST)
        _swap(full=True)
        _count_them(plan.history)
        for user in ("Administrator", _manager()):
            frappe.set_user(user)
            who = "everybody's" if user == "Administrator" else "one organization's"
            for what, look in _views(user).items():
                yield _time(f"{what}, {who}, {table}", look)
            for what, filters in _FILTERS.items():
                yield _time_sorts(f"list, first page{what}, sorted by the slowest column, {who}, {table}", filters)
    finally:
        frappe.set_user("Administrator")
        _swap(full=False)


# The full tables -----------------------------------------------------------------------------------------------------------

_is_full = False


def _swap(full: bool) -> None:
    """Let the full tables, or the empty ones, be the site's."""
    global _is_full
    if full is _is_full:
        return
    now_there, aside = ("aside_empty", "aside_full") if full else ("aside_full", "aside_empty")
    moves = [f"`{table}` TO `{now_there} {table}`, `{aside} {table}` TO `{table}`" for table in (JOB, LOG)]
    frappe.db.commit()
    frappe.db.sql_ddl(f"RENAME TABLE {', '.join(moves)}")
    _is_full = full


def _grown(_: Any) -> Ours:
    _swap(full=True)
    return Ours()


def _empty(_: Any) -> Ours:
    _swap(full=False)
    return Ours()


def _make_full_tables(count: int) -> None:
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


def _count_them(count: int) -> None:
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


# What people look at ---------------------------------------------------------------------------------------------------------


def _manager() -> str:
    email = "manager-of-one@example.com"
    bench.organization("Organization 1")
    if not frappe.db.exists("User", email):
        frappe.get_doc(doctype="User", email=email, first_name="Manager", roles=[{"role": "Job Manager"}]).insert()
        frappe.get_doc(doctype="User Permission", user=email, allow="Organization", for_value="Organization 1").insert()
        frappe.db.commit()
    return email


def _views(user: str) -> dict[str, Callable[[], Any]]:
    organization = None if user == "Administrator" else "Organization 1"
    dead = _FILTERS[", Dead Letter"]
    return {
        "list, first page": lambda: _page([]),
        "list, first page, Dead Letter": lambda: _page(dead),
        "list, count": lambda: _count([]),
        "list, count, Dead Letter": lambda: _count(dead),
        "metrics": lambda: engine().metrics(organization),
    }


_FILTERS: dict[str, list[Any]] = {
    "": [],
    ", Dead Letter": [["Background Job", "status", "=", "Dead Letter"]],
    ", Completed": [["Background Job", "status", "=", "Completed"]],
    ", one type": [["Background Job", "job_type", "=", "type_3"]],
}


def _asked(filters: list[Any], **more: Any) -> None:
    """What Desk's list view sends."""
    fields = ["name", "owner", "creation", "modified", "modified_by", "docstatus", "status", "job_type", "organization"]
    frappe.local.form_dict = frappe._dict(
        doctype="Background Job",
        fields=frappe.as_json([f"`tabBackground Job`.`{field}`" for field in fields]),
        filters=frappe.as_json(filters),
        **more,
    )


def _page(filters: list[Any], column: str = "creation", way: str = "desc") -> Any:
    _asked(filters, order_by=f"`tabBackground Job`.`{column}` {way}", start=0, page_length=20)
    found = list_calls.get()  # what Desk calls
    assert len(found["values"]) == 20
    assert "bounded" not in frappe.local.response
    return found


def _count(filters: list[Any]) -> Any:
    """The list asks for at most 1,001: above that it shows "1000+"."""
    _asked(filters, distinct="false", limit=1001)
    return list_calls.get_count()


def _time(what: str, look: Callable[[], Any]) -> Figure:
    seconds = _milliseconds(look)
    rounds = ", ".join(f"{one:.0f}" for one in seconds)
    return report.at_most(_GROUP, what, median(seconds), " ms", _MOST_MS, rounds)


def _time_sorts(what: str, filters: list[Any]) -> Figure:
    """One figure for all that a list can be sorted by, both ways: the slowest."""
    taken = {
        f"{column} {way}": median(_milliseconds(lambda column=column, way=way: _page(filters, column, way)))
        for column in listing.SORTABLE
        for way in ("asc", "desc")
    }
    slowest = sorted(taken, key=lambda sort: -taken[sort])[:5]
    rounds = ", ".join(f"{sort}: {taken[sort]:.0f}" for sort in slowest)
    return report.at_most(_GROUP, what, taken[slowest[0]], " ms", _MOST_MS, rounds)


def _milliseconds(look: Callable[[], Any]) -> list[float]:
    look()  # caches of Frappe's own
    taken = []
    for _ in range(_LOOKS):
        frappe.db.rollback()
        start = perf_counter()
        look()
        taken.append((perf_counter() - start) * 1000)
    return taken
