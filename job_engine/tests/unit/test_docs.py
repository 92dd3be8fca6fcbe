"""The documents say what the code does: what can be compared is compared, what can be run is run."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from job_engine import Engine, Registry
from job_engine.core import errors
from job_engine.core.registry import POLICY
from job_engine.core.retry import PRESETS, RetryPolicy
from job_engine.core.states import INITIAL, TRANSITIONS
from job_engine.enqueueing import OPTIONS
from job_engine.metrics import Metrics
from job_engine.prometheus import prometheus
from job_engine.settings import Settings

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")])

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the package is installed without its documents")


def page(name: str) -> str:
    return (ROOT / name).read_text()


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.DOTALL | re.MULTILINE)


def table_rows(name: str) -> Iterator[list[str]]:
    for line in page(name).splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def first_cells(name: str) -> set[str]:
    """What is explained in the first column of some table, as code."""
    return {word for cells in table_rows(name) for word in re.findall(r"`([^`]+)`", cells[0])}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


# The first screen ------------------------------------------------------------------------------------------------------


def test_the_readmes_example_is_short_and_runs(tmp_path: Path) -> None:
    example = blocks("README.md", "python")[0]
    assert len(example.splitlines()) <= 20
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    result, explanation, *history = done.stdout.splitlines()
    assert result == "{'greeting': 'Hello World'}"
    assert explanation.startswith("Completed at ") and explanation.endswith("in attempt 2 of 5.")
    assert [line.split()[1] for line in history] == ["Queued", "Running", "Failed", "Queued", "Running", "Completed"]
    assert "TransientError: the network is down" in history[2]


# Links -----------------------------------------------------------------------------------------------------------------


def _anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.exists(), f"{target} leads nowhere"
        assert not anchor or anchor in _anchors(found), f"{target} names a heading that is not there"


@pytest.mark.parametrize("folder", [DOCS, DOCS / "decisions"], ids=relative)
def test_an_index_lists_every_page(folder: Path) -> None:
    index = (folder / "README.md").read_text()
    for path in folder.glob("*.md"):
        assert path.name == "README.md" or f"({path.name})" in index


# Words that the code has as well ---------------------------------------------------------------------------------------


def test_the_causes_of_moves_are_those_of_the_table_of_transitions() -> None:
    states = {str(status) for status in TRANSITIONS} | {"(new)"}
    told = {(cells[0], cells[1]) for cells in table_rows("docs/states.md") if cells[0] in states and len(cells) == 3}
    moves = {(str(source), str(target)) for source, targets in TRANSITIONS.items() for target in targets}
    assert told == moves | {("(new)", str(status)) for status in INITIAL}


def test_every_error_is_explained() -> None:
    classes = {name for name, _ in inspect.getmembers(errors, inspect.isclass) if name in errors.__dict__}
    ours = {name for name in classes if getattr(errors, name).__module__ == errors.__name__}
    assert ours <= first_cells("docs/errors.md")


def test_every_setting_is_explained_with_its_default() -> None:
    told = {cells[0].strip("`"): cells[1] for cells in table_rows("docs/operating.md") if len(cells) == 3}
    for field in dataclasses.fields(Settings):
        assert told[field.name] == f"{field.default:g}"


def test_every_option_of_job_and_of_enqueue_is_explained() -> None:
    assert set(POLICY) <= first_cells("docs/handlers.md")
    assert set(OPTIONS) <= first_cells("docs/enqueueing.md")


def test_every_metric_is_explained(sqlite_url: str) -> None:
    registry = Registry()
    registry.job("one")(lambda: None)
    with Engine.open(sqlite_url, registry=registry) as engine:
        engine.enqueue("one")
        engine.run_once()
        printed = set(re.findall(r"# TYPE (\w+)", prometheus(engine)))
    told = set(re.findall(r"\bjob_engine_(?:jobs?|queue|worker|oldest)\w*", page("docs/operating.md")))
    assert told == printed
    assert {f.name for f in dataclasses.fields(Metrics)} - {"organization"} <= first_cells("docs/operating.md")


def test_every_action_in_the_log_is_explained() -> None:
    sources = [path.read_text() for path in (ROOT / "job_engine").glob("*.py")]
    written = {word for text in sources for word in re.findall(r'"action": "(\w+)"', text)}
    assert len(written) > 5
    assert written <= first_cells("docs/operating.md")


# Retry schedules -------------------------------------------------------------------------------------------------------


def _seconds(cell: str) -> list[float]:
    return [float(number) for number in cell.split(",")]


def test_the_printed_schedules_are_those_of_the_presets() -> None:
    told = {cells[0].strip("`"): cells for cells in table_rows("docs/handlers.md") if cells[0].strip("`") in PRESETS}
    assert told.keys() == PRESETS.keys()
    for name, (_, formula, printed) in told.items():
        exact = PRESETS[name].schedule(len(_seconds(printed)))
        assert _seconds(printed) == exact
        assert [eval(formula, {"min": min, "n": n}) for n in range(1, len(exact) + 1)] == exact


def test_the_printed_schedules_are_those_of_what_people_write() -> None:
    told = [cells for cells in table_rows("docs/handlers.md") if cells[0].startswith("`retry=")]
    assert len(told) >= 3
    for written, printed in told:
        policy = RetryPolicy.parse(ast.literal_eval(written.strip("`").removeprefix("retry=")))
        assert policy.schedule(len(_seconds(printed))) == _seconds(printed)
        assert policy.jitter == 0


# Code ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_every_python_example_can_be_parsed(path: Path) -> None:
    for code in blocks(relative(path), "python"):
        ast.parse(code)


def test_the_example_of_a_test_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = next(code for code in blocks("docs/handlers.md", "python") if "def test_" in code)
    registry = Registry()
    names: dict[str, Any] = {"__name__": "example"}
    monkeypatch.setattr("job_engine.job", registry.job, raising=False)
    monkeypatch.setattr("job_engine.Engine.open", _open_with(registry))
    exec(example, names)
    (test,) = (function for name, function in names.items() if name.startswith("test_"))
    test(tmp_path)


def _open_with(registry: Registry) -> Any:
    """Engine.open with types of our own: the example must not add to those of the other tests."""
    original = Engine.open
    return lambda *args, **options: original(*args, registry=registry, **options)


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_every_make_target_in_the_documents_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", page("Makefile"), re.MULTILINE))
    assert {"help", "demo", "test"} <= targets
    named = [line for block in blocks(relative(path), "sh") for line in block.splitlines()]
    named += re.findall(r"`(make [^`]+)`", path.read_text())
    for words in (shlex.split(line, comments=True) for line in named if line.startswith("make ")):
        assert {word for word in words[1:] if re.fullmatch(r"[a-z-]+", word)} <= targets


# The command line ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program() -> click.Group:
    return pytest.importorskip("job_engine.cli.program").program  # type: ignore[no-any-return]


def _commands(path: Path) -> Iterator[list[str]]:
    """The words of every job-engine command in a page's shell examples and unit files."""
    for block in blocks(relative(path), "(?:sh|ini)"):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.search(r"(?:^|[|=/]\s*|\S/)job-engine (.+)", line.partition("    #")[0])
            if found:
                yield shlex.split(found[1].partition(" | ")[0].rstrip(" &"), comments=True)


def test_every_verb_is_explained(program: click.Group) -> None:
    assert set(program.list_commands(click.Context(program))) <= first_cells("docs/cli.md")


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_every_command_in_the_documents_exists(path: Path, program: click.Group) -> None:
    context = click.Context(program)
    for words in _commands(path):
        words = [word for word in words if not word.startswith("[")]  # the synopsis
        before = list(words)
        while before and before[0].startswith("--"):
            assert _has(program, before[0]), f"{before[0]} is no option of job-engine"
            before = before[1 if _is_flag(program, before[0]) else 2 :]
        if not before or before[0] == "VERB" or not re.fullmatch(r"[a-z]+", before[0]):
            continue
        verb = program.get_command(context, before[0])
        assert verb is not None, f"there is no verb {before[0]}"
        for option in (word for word in before[1:] if word.startswith("--")):
            assert _has(verb, option), f"{before[0]} has no {option}"


def _has(command: click.Command, option: str) -> bool:
    return any(option in parameter.opts for parameter in command.params)


def _is_flag(command: click.Command, option: str) -> bool:
    return any(getattr(p, "is_flag", False) for p in command.params if option in p.opts)
