"""Statements that go out with the next one: the same transaction, the same errors, whether the database takes several or not."""

from __future__ import annotations

import pytest

from job_engine.core.states import Status
from job_engine.engine import Engine

RENAME = "UPDATE {job} SET queue = %s WHERE name = %s"
QUEUE = "SELECT queue FROM {job} WHERE name = %s"
ODD = "'; DELETE FROM {job}; -- %s"  # a value, whatever it looks like


@pytest.fixture
def name(engine: Engine) -> str:
    engine.registry.job("work")(lambda: None)
    return engine.enqueue("work").name


def test_the_next_statement_sees_what_was_posted_before_it(engine: Engine, name: str) -> None:
    with engine.store.transaction() as session:
        session.post(RENAME, ("mail", name))
        assert session.value(QUEUE, (name,)) == "mail"
        session.post(RENAME, (ODD, name))
        assert session.change(RENAME, ("mail", "no such job")) == 0
        assert session.value(QUEUE, (name,)) == ODD
    assert engine.get(name).queue == ODD


def test_the_commit_takes_along_what_was_posted(engine: Engine, name: str) -> None:
    with engine.store.transaction() as session:
        session.post(RENAME, ("mail", name))
    assert engine.get(name).queue == "mail"


def test_a_posted_statement_that_fails_leaves_nothing_of_its_transaction(engine: Engine, name: str) -> None:
    with pytest.raises(Exception, match="no_such_column"), engine.store.transaction() as session:
        session.post(RENAME, ("mail", name))
        session.post("UPDATE {job} SET no_such_column = 1")
    assert engine.get(name).queue == "default"
    assert engine.run_once() == 1
    assert engine.get(name).status is Status.COMPLETED


def test_what_was_posted_goes_with_a_rollback(engine: Engine, name: str) -> None:
    with pytest.raises(RuntimeError), engine.store.transaction() as session:
        session.post(RENAME, ("mail", name))
        raise RuntimeError
    assert engine.get(name).queue == "default"


def test_many_statements_come_after_what_was_posted(engine: Engine, name: str) -> None:
    with engine.store.transaction() as session:
        session.post(RENAME, ("mail", name))
        session.many("UPDATE {job} SET queue = %s WHERE name = %s AND queue = %s", [("late", name, "mail")])
    assert engine.get(name).queue == "late"


def test_several_questions_have_an_answer_each(engine: Engine, name: str) -> None:
    with engine.store.transaction() as session:
        session.post(RENAME, (ODD, name))
        answers = session.answers((QUEUE, (name,)), (QUEUE, ("no such job",)), ("SELECT name FROM {job}", ()))
        assert [list(rows) for rows in answers] == [[(ODD,)], [], [(name,)]]


def test_a_question_that_fails_fails_all_of_them(engine: Engine, name: str) -> None:
    with pytest.raises(Exception, match="no_such_column"), engine.store.transaction() as session:
        session.post(RENAME, ("mail", name))
        session.answers((QUEUE, (name,)), ("SELECT no_such_column FROM {job}", ()))
    assert engine.get(name).queue == "default"


def test_a_commit_goes_out_with_the_next_question(engine: Engine, name: str) -> None:
    with engine.store.transaction() as session:
        session.post(RENAME, ("mail", name))
        session.post_commit()
        assert session.value(QUEUE, (name,)) == "mail"
        session.rollback()
    assert engine.get(name).queue == "mail"


def test_a_posted_commit_is_made_where_nothing_is_asked_any_more(engine: Engine, name: str) -> None:
    with engine.store.transaction() as session:
        session.post(RENAME, ("mail", name))
        session.post_commit()
    assert engine.get(name).queue == "mail"


def test_a_posted_commit_comes_not_after_a_statement_that_failed(engine: Engine, name: str) -> None:
    with pytest.raises(Exception, match="no_such_column"), engine.store.transaction() as session:
        session.post(RENAME, ("mail", name))
        session.post("UPDATE {job} SET no_such_column = 1")
        session.post_commit()
        session.value(QUEUE, (name,))
    assert engine.get(name).queue == "default"
