"""`bench job-engine seed`: believable, the same each time, and gone without a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import frappe
import pytest
from click.testing import CliRunner

from job_engine.cli.verbs.seed import command
from job_engine.core.registry import default_registry
from job_engine.core.states import TRANSITIONS, Status
from job_engine.site import engine, monitor, seed, seed_story, seed_types
from job_engine.site.engines import RunnersEngine
from job_engine.site.seed_lives import Story
from job_engine.site.seed_plan import ORGANIZATIONS, ROUTINES
from job_engine.store import stats

NOW = datetime(2024, 11, 16, 12, 30, tzinfo=timezone.utc)


@pytest.fixture(scope="module")
def story() -> Story:
    assert seed_types
    return seed_story.tell(default_registry, NOW, 4000, seed.SEED)


# The story -------------------------------------------------------------------------------------------------------------------


def test_it_is_the_same_each_time(story: Story):
    again = seed_story.tell(default_registry, NOW, 4000, seed.SEED)

    def told(s: Story) -> list[tuple[object, ...]]:
        return [(j["job_type"], j["status"], j["creation"], j["params"], j.get("last_error")) for j in s.jobs]

    assert told(again) == told(story)


def test_it_has_everything_that_a_site_may_have(story: Story):
    assert {job["status"] for job in story.jobs} >= {str(s) for s in Status} - {"Timed Out"}
    assert {job["job_type"] for job in story.jobs} == set(ROUTINES)
    assert {job["organization"] for job in story.jobs} == set(ORGANIZATIONS)
    assert min(job["creation"] for job in story.jobs) < NOW - timedelta(days=13)
    assert max(job["creation"] for job in story.jobs) <= NOW
    causes = Counter(job["last_error"] for job in story.jobs if job["status"] == "Dead Letter")
    assert len(causes) > 5
    assert len(story.dependencies) >= 4


def test_no_history_breaks_the_rules(story: Story):
    status = {job["name"]: job["status"] for job in story.jobs}
    last: dict[str, Status] = {}
    for entry in sorted(story.log, key=lambda e: e["creation"]):
        before, after = Status(entry["from_status"]), Status(entry["to_status"])
        assert after in TRANSITIONS[before], entry
        last[entry["job"]] = after
    for name, after in last.items():
        assert status[name] in (str(after), "Pending"), "a job is not where its history ends"


def test_the_counters_tell_what_the_histories_tell(story: Story):
    counted: Counter[str] = Counter()
    for _, _, _, event, _, _, n, _ in seed_story.counter_rows(story, NOW):
        counted[event] += n
    by_status = Counter(job["status"] for job in story.jobs)
    for status in ("Completed", "Dead Letter", "Canceled"):
        assert counted[status] - counted[stats.left(Status(status))] == by_status[status]


# On a site -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def console(connected: str) -> Iterator[RunnersEngine]:
    made = RunnersEngine.for_runners()
    yield made
    seed.remove(made)
    made.store.close()
    frappe.db.commit()


def _rows() -> dict[str, int]:
    tables = ("tabBackground Job", "tabJob Execution Log", "tabOrganization", "tabUser", "tabUser Permission", "tabJob Type",
              "__job_engine_stat", "__job_engine_dependency", "__job_engine_control", "__job_engine_worker")  # fmt: skip
    where = {"tabBackground Job": "organization", "tabOrganization": "name", "__job_engine_stat": "organization"}
    marks = {"tabUser": "name LIKE '%%.example.com'", "tabUser Permission": "`user` LIKE '%%.example.com'",
             "__job_engine_worker": "name LIKE 'worker-host-%%'", "__job_engine_control": "target = 'price_update'",
             "tabJob Type": "handler LIKE 'job_engine.site.seed_types.%%'"}  # fmt: skip
    found = {}
    frappe.db.rollback()
    for table in tables:
        if table in where:
            names = ", ".join(frappe.db.escape(name) for name in ORGANIZATIONS)
            condition = f"{where[table]} IN ({names})"
        elif table in marks:
            condition = marks[table].replace("%%", "%")
        else:
            continue
        found[table] = frappe.db.sql(f"SELECT COUNT(*) FROM `{table}` WHERE {condition}".replace("%", "%%"), ())[0][0]
    return found


def test_a_site_is_seeded_once_looks_alive_and_is_clean_again(console: RunnersEngine):
    made = seed.seed(console, 300)

    frappe.db.rollback()
    rows = _rows()
    assert rows["tabBackground Job"] == made > 300
    assert rows["tabOrganization"] == 3 and rows["tabUser"] == 6 and rows["tabJob Type"] == 12
    with pytest.raises(Exception, match="seeded already"):
        seed.seed(console, 300)
    manager = f"manager@{seed.slug('Harbour Books')}.example.com"
    seen = monitor.read(engine(), manager, "7d")
    assert [row["organization"] for row in seen["organizations"]] == ["Harbour Books"]
    assert seen["summary"]["completed"] > 20 and seen["summary"]["queued"] > 0 and seen["workers"]

    names = frappe.get_all("Background Job", {"organization": ["in", list(ORGANIZATIONS)]}, pluck="name", limit=0)
    assert frappe.db.count("Job Execution Log", {"job": ["in", names]}) > 200
    assert seed.remove(console) == made
    assert set(_rows().values()) == {0}
    assert frappe.db.count("Job Execution Log", {"job": ["in", names]}) == 0
    assert not seed.is_seeded() and seed.MODULE not in (frappe.get_site_config().get("job_types") or [])
    assert seed.remove(console) == 0


def test_it_is_not_done_without_being_asked_for(console: RunnersEngine):
    class Home:
        def engine(self) -> RunnersEngine:
            return console

        def address(self) -> str:
            return "this site"

    answer = CliRunner().invoke(command, [], obj=Home(), input="n\n")

    assert answer.exit_code == 1 and "Aborted" in answer.output
    assert not seed.is_seeded()
