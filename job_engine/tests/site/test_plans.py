"""On a site's own tables, too, each hot query reads through the index that was made for it, and few rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import frappe
import pytest

from job_engine.site import engine, orders, sorting, walking
from job_engine.site.engines import RunnersEngine
from job_engine.store.session import Session
from job_engine.tests.site.running import QUEUE, Bench

ROWS = 20_000  # ended, future and blocked ones; a third each
FEW = 1_500  # rows that a statement may touch; a scan of any third is far above

# duty: the indexes that its statements may use
INDEXES = {
    "claim": {"je_job_claim", "PRIMARY"},
    "heartbeat": {"PRIMARY"},
    "finish": {"PRIMARY"},
    "promote": {"je_job_promote", "PRIMARY"},
    "next due": {"je_job_promote"},
    "rescue": {"je_job_lease", "PRIMARY"},
    "count of an organization's waiting jobs": {"je_job_list_status"},
    "list": {"creation", "je_job_list"},  # Frappe makes one itself, or we do
    "list of one state": {"je_job_ended", "je_job_lease", "je_job_claim", "je_job_promote", "creation"},
    "list of one organization": {"je_job_list_organization", "je_job_list_status"},
}

Statement = tuple[str, tuple[Any, ...]]


@pytest.fixture
def full(here: Bench) -> Iterator[Bench]:
    """Many rows that no hot query should read, and the statistics of a table that has them."""
    if frappe.db.db_type != "mariadb":
        pytest.skip("EXPLAIN is read as MariaDB tells it; the engine's own tests pin the plans of PostgreSQL")
    now = frappe.utils.now_datetime()
    rows = [_row(f"{here.organization} {i % 50}", i, now) for i in range(ROWS)]
    frappe.db.bulk_insert("Background Job", list(rows[0]), [tuple(row.values()) for row in rows], chunk_size=2000)
    frappe.db.commit()
    frappe.db.sql("ANALYZE TABLE `tabBackground Job`")
    yield here


def _row(organization: str, i: int, now: Any) -> dict[str, Any]:
    kind = i % 3
    due = now + timedelta(hours=1, seconds=i) if kind == 1 else now - timedelta(hours=1, seconds=i)
    return {
        "name": f"filler{i:06}",
        "job_type": "test.noop",
        "status": ("Completed", "Pending", "Failed")[kind],
        "priority": "Normal",
        "queue": QUEUE,
        "organization": organization,
        "params": "{}",
        "run_after": due,
        "max_attempts": 5,
        "job_hash": f"h{i}",
        "blockers": int(kind == 2),
        "lane": f"2|{QUEUE}|{organization}|test.noop",
        "creation": now - timedelta(days=30, seconds=i),
        "modified": now,
        "ended_at": now - timedelta(minutes=i) if kind == 0 else None,
    }


def test_the_hot_queries_use_the_indexes_meant_for_them(full: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = _record_duties(full, monkeypatch)
    assert recorded.keys() == INDEXES.keys()
    wrong: list[str] = []
    for duty, statements in recorded.items():
        assert statements, f"{duty}: no statement on the table was seen"
        for statement, parameters in statements:
            used = _indexes(statement, parameters)
            touched = _touched(statement, parameters)
            if not used <= INDEXES[duty] or touched > FEW:
                wrong.append(f"{duty}: {sorted(used)}, {touched} rows touched: {' '.join(statement.split())[:300]}")
    assert not wrong, "\n".join(wrong)


def _record_duties(here: Bench, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Statement]]:
    seen: list[Statement] = []
    execute, sql = Session.execute, type(frappe.local.db).sql

    def spy(self: Session, template: str, params: Sequence[Any] = ()) -> Any:
        if "{job}" in template:
            seen.append((self.dialect.sql(template), tuple(params)))
        return execute(self, template, params)

    def spy_on_frappe(self: Any, query: Any, values: Any = (), *args: Any, **kwargs: Any) -> Any:
        if "tabBackground Job" in str(query):
            seen.append((str(query), tuple(values) if isinstance(values, (list, tuple)) else ()))
        return sql(self, query, values, *args, **kwargs)

    def during(act: Callable[[], Any]) -> list[Statement]:
        seen.clear()
        act()
        return list(dict.fromkeys(seen))

    for i in range(12):
        here.enqueue("test.noop", {"i": i})
        here.enqueue("test.noop", {"i": i}, run_after=0.01)
    frappe.db.commit()
    store = RunnersEngine.for_runners(alone=False).store
    with monkeypatch.context() as patch:
        patch.setattr(Session, "execute", spy)
        recorded = {"claim": during(lambda: store.claim_batch("w1", 5, (QUEUE,)))}
        names = [held.name for held in store.held("w1")]
        recorded["heartbeat"] = during(lambda: store.heartbeat("w1", names))
        recorded["finish"] = during(lambda: store.mark_success(names[0], "w1", 1))
        recorded["promote"] = during(store.promote)
        recorded["next due"] = during(store.next_due)
        recorded["rescue"] = during(store.rescue)
        store.close()
        patch.setattr(type(frappe.local.db), "sql", spy_on_frappe)
        recorded["count of an organization's waiting jobs"] = during(lambda: _count_anew(here.organization))
        recorded["list"] = during(lambda: _first_page({}))
        recorded["list of one state"] = during(lambda: _first_page({"status": "Dead Letter"}))
        recorded["list of one organization"] = during(lambda: _first_page({"organization": here.organization}))
    return recorded


def _count_anew(organization: str) -> None:
    from job_engine.site import capacity

    capacity._room.clear()
    capacity.check(organization, 1)


def _first_page(filters: dict[str, str]) -> None:
    """As Desk asks for it."""
    frappe.get_list("Background Job", filters=filters, fields=["name", "status"], order_by="creation desc", limit=20)


def _indexes(statement: str, parameters: tuple[Any, ...]) -> set[str]:
    """Through which the statement reads jobs. "every row" where through none."""
    rows = frappe.db.sql(f"EXPLAIN {statement}", parameters, as_dict=True)
    return {row.key or "every row" for row in rows if row.table and _is_job(row.table)}


def _is_job(table: str) -> bool:
    return table in ("tabBackground Job", "j", "c", "p")


def _touched(statement: str, parameters: tuple[Any, ...]) -> int:
    """How many rows a SELECT reads."""
    if not statement.lstrip().upper().startswith(("SELECT", "(SELECT", "WITH")):
        return 0
    before = _reads()
    frappe.db.sql(statement, parameters)
    after = _reads()
    frappe.db.rollback()
    return after - before


def _reads() -> int:
    return sum(int(value) for _, value in frappe.db.sql("SHOW SESSION STATUS LIKE 'Handler_read%%'"))


def test_a_page_in_the_order_of_any_column_reads_few_rows(full: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "LITTLE", 10)
    monkeypatch.setattr(sorting, "SCATTERED", 10)
    conditions = [
        walking.Which("1 = 1"),
        walking.Which("status = 'Completed'", given={"status": ["Completed"]}),
        walking.Which("job_type = 'test.noop'", given={"job_type": ["test.noop"]}),
    ]

    def run(template: str, parameters: Sequence[Any]) -> Any:
        return frappe.db.sql(template.format(job="`tabBackground Job`", user="`user`"), parameters)

    # This table is full of jobs that have not ended, which an order by `modified` reads, and none of them has started.
    columns = orders.ORDERS.keys() - {"modified", "started_at"}
    wrong: list[str] = []
    for column, wanted, descending in itertools.product(columns, conditions, (False, True)):
        before = _reads()
        found = sorting.names(run, True, walking.Question(wanted, column, descending, 0, 20))
        touched = _reads() - before
        if len(found) != 20 or touched > FEW:
            wrong.append(f"{column}, {wanted.condition}, descending {descending}: {touched} rows for {len(found)}")
    assert not wrong, "\n".join(wrong)


def test_the_engine_of_callers_counts_nothing_when_it_enqueues_again(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of waiting jobs must not cost every enqueue a count."""
    here.enqueue("test.noop")
    counted: list[str] = []
    sql = type(frappe.local.db).sql

    def spy(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        if "COUNT" in str(query):
            counted.append(str(query))
        return sql(self, query, *args, **kwargs)

    monkeypatch.setattr(type(frappe.local.db), "sql", spy)
    for i in range(50):
        engine().enqueue("test.noop", {"i": i}, queue=QUEUE, organization=here.organization)
    assert not counted
