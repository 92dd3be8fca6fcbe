from __future__ import annotations

import hashlib
import os
import re
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_engine.core.fingerprint import job_hash, new_name, new_names

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PARTS = st.text()


def milliseconds(name: str) -> int:
    value = 0
    for character in name[:10]:
        value = value * 32 + ALPHABET.index(character)
    return value


def test_the_hash_never_changes_between_releases() -> None:
    """Jobs that wait during an upgrade must still be recognised as duplicates after it."""
    assert job_hash("pdf", "ACME", '{"a":1}') == hashlib.sha256(b'3:pdf4:ACME7:{"a":1}').hexdigest()


@given(PARTS, PARTS, PARTS, PARTS, PARTS, PARTS)
def test_different_jobs_have_different_hashes(a: str, b: str, c: str, d: str, e: str, f: str) -> None:
    assert (job_hash(a, b, c) == job_hash(d, e, f)) == ((a, b, c) == (d, e, f))


def test_moving_a_character_between_the_parts_changes_the_hash() -> None:
    assert len({job_hash("ab", "c", "{}"), job_hash("a", "bc", "{}"), job_hash("a", "b", "c{}")}) == 3


def test_no_organization_and_an_empty_one_are_the_same() -> None:
    assert job_hash("pdf", None, "{}") == job_hash("pdf", "", "{}")


def test_a_name_is_26_characters_of_lowercase_crockford_base32() -> None:
    assert re.fullmatch(f"[0-7][{ALPHABET}]{{25}}", new_name())


def test_a_name_carries_the_time_it_was_made_at() -> None:
    before = time.time_ns() // 1_000_000
    name = new_name()
    # Names may run ahead of the clock only where it was set back.
    assert milliseconds(name) >= before
    assert milliseconds(new_name(1_700_000_000_000)) == 1_700_000_000_000


def test_names_of_one_process_rise_strictly() -> None:
    names = [new_name() for _ in range(20_000)]
    assert names == sorted(set(names))


def test_names_made_in_bulk_rise_and_stand_between_their_neighbours() -> None:
    names = [new_name(), *new_names(5000), new_name()]
    assert names == sorted(set(names))
    assert new_names(0) == []


def test_names_of_one_given_time_rise_too() -> None:
    names = [new_name(5), *new_names(100, clock_ms=5), new_name(6)]
    assert names == sorted(set(names))


def test_given_times_order_names_even_backwards_and_leave_real_names_alone() -> None:
    future = new_name(4_000_000_000_000)
    assert new_name(1_000) < future
    assert new_name() < future


@pytest.mark.parametrize("clock_ms", [-1, 1 << 48])
def test_a_time_that_does_not_fit_is_refused(clock_ms: int) -> None:
    with pytest.raises(ValueError, match="milliseconds since 1970"):
        new_name(clock_ms)


def test_threads_never_get_the_same_name() -> None:
    names: list[list[str]] = [[] for _ in range(8)]

    def work(mine: list[str]) -> None:
        mine.extend(new_name() for _ in range(2000))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({name for mine in names for name in mine}) == 16_000
    assert all(mine == sorted(mine) for mine in names)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_child_does_not_repeat_its_parent_s_names() -> None:
    new_name(7)  # both go on from here, in the same millisecond
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, "".join(new_names(10, clock_ms=7)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 260).decode()
    os.close(reader)
    os.close(writer)
    assert len(theirs) == 260
    assert not {theirs[i : i + 26] for i in range(0, 260, 26)} & set(new_names(10, clock_ms=7))
