"""Who goes first: priority's lanes are shared fairly, limits hold, and a suspect runs alone, but it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_engine.core.fairness import Candidate, available, before_the_suspect, limit_keys, pick, shares, turns
from job_engine.core.priority import Lane

ORGANIZATIONS = st.lists(st.sampled_from("ABCDE"), min_size=1, unique=True)
NO_ROOM: dict[tuple[str, str], int] = {}


def lane(organization: str, job_type: str = "step") -> Lane:
    return Lane("2", "default", organization, job_type)


def waiting(organization: str, count: int, lost: Sequence[int] = (), job_type: str = "step") -> list[Candidate]:
    """An organization's candidates in the order in which they are due; `lost` are the places of suspects."""
    return [Candidate(f"{organization}{i:04}", i, int(i in lost), lane(organization, job_type)) for i in range(count)]


# Turns


@given(ORGANIZATIONS, st.sampled_from("ABCDEZ"))
def test_turns_begin_after_the_one_served_last_and_leave_nobody_out(organizations: list[str], last: str) -> None:
    order = turns(organizations, last)
    assert sorted(order) == sorted(organizations)
    later = [o for o in order if o > last]
    assert order == sorted(later) + sorted(set(order) - set(later))


def test_without_anybody_served_turns_are_in_order() -> None:
    assert turns(["B", "A", "B"], None) == ["A", "B"]


# Shares


@given(ORGANIZATIONS, st.integers(1, 500))
def test_shares_are_equal_and_fill_the_batch(organizations: list[str], limit: int) -> None:
    asked = shares([lane(o) for o in organizations], limit, NO_ROOM)
    assert len(asked) == len(organizations)
    assert len(set(asked.values())) == 1
    assert limit <= sum(asked.values()) < limit + len(organizations)


def test_an_organization_with_many_types_has_no_larger_share() -> None:
    asked = shares([lane("A", "x"), lane("A", "y"), lane("B")], 10, NO_ROOM)
    assert set(asked.values()) == {5}


def test_a_lane_is_asked_for_no_more_than_its_room_and_not_at_all_without() -> None:
    room = {("type", "x"): 2, ("organization", "B"): 0}
    assert shares([lane("A", "x"), lane("A", "y"), lane("B", "y")], 10, room) == {lane("A", "x"): 2, lane("A", "y"): 5}


# Picking


@given(ORGANIZATIONS, st.integers(1, 12), st.integers(0, 40), st.sampled_from("ABCDEZ"))
def test_no_organization_gets_two_more_than_another_that_waits(
    organizations: list[str], count: int, limit: int, last: str
) -> None:
    found = [c for o in organizations for c in waiting(o, count)]
    picked = pick(found, limit, {}, last)
    assert len(picked) == min(limit, len(found))
    got = Counter(c.lane.organization for c in picked)
    assert max(got[o] for o in organizations) - min(got[o] for o in organizations) <= 1
    for organization in organizations:
        mine = [c for c in picked if c.lane.organization == organization]
        assert mine == waiting(organization, count)[: len(mine)], "the one that was due the longest did not go first"


def test_the_batch_begins_with_whose_turn_it_is() -> None:
    found = waiting("A", 2) + waiting("B", 2)
    assert [c.name for c in pick(found, 4, {}, "A")] == ["B0000", "A0000", "B0001", "A0001"]


@pytest.mark.parametrize("key", limit_keys(lane("A")))
def test_a_batch_takes_no_more_than_there_is_room_for_and_uses_it_up(key: tuple[str, str]) -> None:
    room = {key: 2}
    picked = pick(waiting("A", 5) + waiting("B", 3, job_type="other"), 10, room, None)
    assert Counter(c.lane.organization for c in picked) == {"A": 2, "B": 3}
    assert room == {key: 0}


# Suspects


def test_a_suspect_whose_turn_it_is_runs_alone() -> None:
    assert [c.name for c in pick(waiting("A", 3, lost=[0]), 10, {}, None)] == ["A0000"]


def test_a_suspect_whose_turn_it_is_not_is_in_nobodys_batch() -> None:
    picked = pick(waiting("A", 3, lost=[0]) + waiting("B", 3), 10, {}, "A")
    assert sorted(c.name for c in picked) == ["A0001", "A0002", "B0000", "B0001", "B0002"]


def test_nobody_is_taken_for_served_when_no_suspect_was_passed_over() -> None:
    found = waiting("A", 2) + waiting("B", 2)
    assert before_the_suspect(found, found[:1]) is None
    suspect = waiting("A", 1, lost=[0])
    assert before_the_suspect(suspect, suspect) is None


@given(ORGANIZATIONS, st.data())
def test_the_organization_of_a_suspect_that_was_passed_over_comes_next(
    organizations: list[str], data: st.DataObject
) -> None:
    suspected = data.draw(st.sampled_from(organizations))
    found = [c for o in organizations for c in waiting(o, 3, lost=[0] if o == suspected else [])]
    served = before_the_suspect(found, [c for c in found if not c.lost])
    assert turns(organizations, served)[0] == suspected


@given(ORGANIZATIONS, st.data())
def test_a_suspect_runs_while_its_neighbours_never_run_out(organizations: list[str], data: st.DataObject) -> None:
    """However much comes in behind it, and whoever was served last: at the second claim at the latest."""
    suspected = data.draw(st.sampled_from(organizations))
    last: str | None = data.draw(st.sampled_from([None, *organizations]))
    for _ in range(2):
        asked = shares([lane(o) for o in organizations], 50, NO_ROOM)
        found = [c for o in organizations for c in waiting(o, asked[lane(o)], lost=[0] if o == suspected else [])]
        picked = pick(found, 50, {}, last)
        if any(c.lost for c in picked):
            assert len(picked) == 1
            return
        last = before_the_suspect(found, picked) or picked[-1].lane.organization
    pytest.fail("the suspect was passed over twice")


# Rates


@pytest.mark.parametrize(
    ("tokens", "seconds_since", "expected"),
    [
        (0.0, 0.0, 0.0),
        (0.0, 6.0, 1.0),
        (2.5, 3.0, 3.0),
        (9.0, 60.0, 10.0),
        (4.0, -5.0, 4.0),
    ],
    ids=["empty", "one drips in", "parts add up", "no more than full", "a clock that went back takes nothing"],
)
def test_a_bucket_fills_with_time(tokens: float, seconds_since: float, expected: float) -> None:
    assert available(tokens, seconds_since, count=10, per_seconds=60.0) == pytest.approx(expected)
