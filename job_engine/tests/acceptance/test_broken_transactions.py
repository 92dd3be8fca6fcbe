"""A handler can break the transaction that it shares with its neighbours. It is charged for that; they are not."""

from __future__ import annotations

from collections import Counter

import pytest

from job_engine import Engine, Job, Status
from job_engine.tests.acceptance import effects, handlers
from job_engine.tests.acceptance.fleet import Fleet
from job_engine.tests.acceptance.folder import Folder
from job_engine.tests.acceptance.jobs import all_have_ended, outcome
from job_engine.tests.acceptance.waiting import until

NEIGHBOURS = 10


def _run_with_neighbours(engine: Engine, fleet: Fleet, way: str) -> tuple[Job, list[Job]]:
    harmless = [{"number": n} for n in range(NEIGHBOURS)]
    made = engine.enqueue_many(handlers.BREAKING, [*harmless[:3], {"way": way}, *harmless[3:]])
    jobs = [answer for answer in made]
    fleet.start()
    until(lambda: all_have_ended(engine), "all jobs to end", limit=15)
    return jobs.pop(3), jobs


def _assert_unharmed(engine: Engine, neighbours: list[Job], *others: Job) -> None:
    assert Counter(outcome(engine, job) for job in neighbours) == {(Status.COMPLETED, 1): len(neighbours)}
    expected = Counter(job.name for job in [*neighbours, *others])
    assert Counter(name for name, _, _ in effects.recorded(engine).elements()) == expected


def test_a_handler_that_breaks_its_connection_each_time_ends_in_dead_letter(
    engine: Engine, fleet: Fleet, folder: Folder
) -> None:
    guilty, neighbours = _run_with_neighbours(engine, fleet, "connection")
    assert outcome(engine, guilty) == (Status.DEAD_LETTER, guilty.max_attempts)
    assert len(folder.notes("started", guilty.name)) == guilty.max_attempts
    _assert_unharmed(engine, neighbours)


@pytest.mark.postgresql
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # elsewhere a commit refuses nothing
def test_a_handler_whose_writes_cannot_be_committed_ends_in_dead_letter(engine: Engine, fleet: Fleet) -> None:
    """The constraint is checked when the group commits, long after the handler has returned."""
    with engine.store.transaction() as session:
        session.execute(
            "CREATE TABLE acceptance_child"
            " (id integer PRIMARY KEY, parent integer REFERENCES acceptance_child DEFERRABLE INITIALLY DEFERRED)"
        )
    guilty, neighbours = _run_with_neighbours(engine, fleet, "commit")
    assert outcome(engine, guilty) == (Status.DEAD_LETTER, 1)  # what violates a constraint will do so again
    assert "acceptance_child" in (engine.get(guilty.name).last_error or "")
    _assert_unharmed(engine, neighbours)


def test_a_handler_that_hides_a_failed_statement_does_not_take_its_neighbours_along(
    engine: Engine, fleet: Fleet
) -> None:
    """PostgreSQL refuses what follows a failed statement, so that job cannot complete; elsewhere it simply does."""
    hiding, neighbours = _run_with_neighbours(engine, fleet, "error swallowed")
    if engine.store.dialect.name == "PostgreSQL":
        assert outcome(engine, hiding) == (Status.DEAD_LETTER, hiding.max_attempts)
        _assert_unharmed(engine, neighbours)
    else:
        assert outcome(engine, hiding) == (Status.COMPLETED, 1)
        _assert_unharmed(engine, neighbours, hiding)
