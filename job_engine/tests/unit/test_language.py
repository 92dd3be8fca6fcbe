"""The engine's words can be translated, and cost nothing where nobody translates them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import job_engine
from job_engine import Engine
from job_engine.core import language
from job_engine.core.errors import InvalidParams, JobNotFound
from job_engine.core.registry import Registry

PACKAGE = Path(job_engine.__file__).parent
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if "tests" not in path.parts)


@pytest.fixture
def shouted() -> Iterator[None]:
    """A language that everybody can read."""
    language.set_translator(str.upper)
    yield
    language.set_translator(language._as_it_is)


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    registry = Registry()
    registry.job("work")(_work)
    with Engine.open(sqlite_url, registry=registry) as engine:
        yield engine


def _work() -> None:
    pass


def test_without_a_translator_a_text_stays_as_it_is() -> None:
    assert language._("Not due yet; it will be queued at {0}.") == "Not due yet; it will be queued at {0}."


def test_explain_and_errors_speak_the_language_of_the_translator(engine: Engine, shouted: None) -> None:
    later = engine.enqueue("work", run_after=60)

    assert engine.explain(later.name).startswith("NOT DUE YET; IT WILL BE QUEUED AT ")
    with pytest.raises(JobNotFound, match="THERE IS NO JOB nothing"):
        engine.get("nothing")
    with pytest.raises(InvalidParams, match="PASS ITS TOTAL_SECONDS"):
        engine.enqueue("work", {"wait": timedelta(1)})


def test_what_is_stored_is_not_translated(engine: Engine, shouted: None) -> None:
    job = engine.enqueue("work")
    engine.cancel(job.name, reason="not needed")

    assert engine.get(job.name).reason == "not needed"
    assert "not needed" in engine.explain(job.name)
    assert {t.reason for t in engine.history(job.name)} <= {None, "not needed"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_is_marked_can_be_found_by_those_who_translate(path: Path) -> None:
    """Frappe's tools read literals: an f-string is none, and a variable called `_` hides the function."""
    tree = ast.parse(path.read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_mark(node.func)]
    inside = {id(node) for text in ast.walk(tree) if isinstance(text, ast.JoinedStr) for node in ast.walk(text)}
    for call in calls:
        assert id(call) not in inside, f"{path}:{call.lineno}: within an f-string it is not found"
        assert not isinstance(call.args[0], ast.JoinedStr | ast.BinOp), f"{path}:{call.lineno}: no plain literal"
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        marks = [node for node in ast.walk(function) if node in calls]
        assert not (marks and _binds_it(function)), f"{path}:{function.lineno}: a variable hides `_`"


def _is_mark(function: ast.expr) -> bool:
    return (isinstance(function, ast.Name) and function.id == "_") or (
        isinstance(function, ast.Attribute) and function.attr == "_"
    )


def _binds_it(function: ast.FunctionDef) -> bool:
    """In the function itself: a comprehension's variables are its own."""
    own = [node for statement in function.body for node in _without_comprehensions(statement)]
    return any(isinstance(node, ast.Name) and node.id == "_" and isinstance(node.ctx, ast.Store) for node in own)


def _without_comprehensions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
            yield from _without_comprehensions(child)
