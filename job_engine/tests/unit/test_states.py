"""The table of moves: it is what the diagram in the docs shows, and it guards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from job_engine.core.errors import IllegalTransition
from job_engine.core.states import (
    ACTIVE,
    CANCELABLE,
    ENDED,
    INITIAL,
    RETRYABLE,
    TRANSITIONS,
    WAITING,
    Status,
    check,
    sources,
)

DIAGRAM = Path(__file__).parents[3] / "docs" / "states.md"
START = "[*]"


def drawn() -> set[tuple[str, str]]:
    """Every arrow of the diagram, with the states' own names."""
    (diagram,) = re.findall(r"```mermaid\n(stateDiagram-v2\n.*?)```", DIAGRAM.read_text(encoding="utf-8"), re.DOTALL)
    names = {alias: name for name, alias in re.findall(r'state "([^"]+)" as (\w+)', diagram)}
    arrows = re.findall(r"^\s*(\[\*\]|\w+)\s*-->\s*(\[\*\]|\w+)", diagram, re.MULTILINE)
    assert len(arrows) == diagram.count("-->"), "an arrow of the diagram could not be read"
    return {(names.get(a, a), names.get(b, b)) for a, b in arrows}


def test_the_diagram_shows_every_move_and_no_other() -> None:
    table = {(str(a), str(b)) for a, targets in TRANSITIONS.items() for b in targets}
    assert {arrow for arrow in drawn() if START not in arrow} == table


def test_the_diagram_shows_where_a_job_starts() -> None:
    assert {b for a, b in drawn() if a == START} == {str(status) for status in INITIAL}


def test_the_diagram_ends_where_no_move_is_left() -> None:
    finals = {a for a, b in drawn() if b == START}
    assert finals <= {str(status) for status, targets in TRANSITIONS.items() if not targets}


@pytest.mark.parametrize("status", sorted(Status))
@pytest.mark.parametrize("wanted", sorted(Status))
def test_a_move_is_allowed_or_refused_with_what_is_possible_instead(status: Status, wanted: Status) -> None:
    if wanted in TRANSITIONS[status]:
        check("j1", status, wanted)
        return
    with pytest.raises(IllegalTransition) as caught:
        check("j1", status, wanted)
    assert (caught.value.name, caught.value.status, caught.value.wanted) == ("j1", status, wanted)
    for possible in TRANSITIONS[status]:
        assert possible.value in str(caught.value)


def test_there_are_the_eight_states_of_the_design_and_no_other() -> None:
    names = "Pending, Queued, Running, Completed, Failed, Timed Out, Dead Letter, Canceled"
    assert {str(status) for status in Status} == set(names.split(", "))
    assert set(TRANSITIONS) == set(Status)


def test_every_state_can_be_reached_and_only_completed_is_final() -> None:
    reached, edge = set(INITIAL), set(INITIAL)
    while edge:
        edge = {b for a in edge for b in TRANSITIONS[a]} - reached
        reached |= edge
    assert reached == set(Status)
    assert {s for s in Status if not TRANSITIONS[s]} == {Status.COMPLETED}


def test_the_groups_of_states_follow_from_the_table() -> None:
    assert set(Status) == ACTIVE | ENDED and not ACTIVE & ENDED
    assert {Status.COMPLETED, Status.DEAD_LETTER, Status.CANCELED} == ENDED
    assert ENDED - {Status.COMPLETED} == RETRYABLE
    assert CANCELABLE == ACTIVE == sources(Status.CANCELED)
    assert {Status.PENDING, Status.FAILED, Status.TIMED_OUT} == WAITING
    assert sources(Status.RUNNING) == {Status.QUEUED}
