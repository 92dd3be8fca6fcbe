"""Names and hashes of jobs.

A name is a ULID: 48 bits of milliseconds, 80 bits of chance, 26 lowercase characters. Names sort by time, so new rows
go to the end of the primary key instead of all over it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford: no i, l, o, u
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]  # ten bits at a time: half the steps
_SHIFTS = tuple(range(120, -1, -10))
_RANDOM_BITS = 80
_MAX_MS = (1 << 48) - 1


def job_hash(job_type: str, organization: str | None, params_json: str) -> str:
    """The same for two jobs that would do the same work. None and "" both mean: of no organization."""
    digest = _hash_of_the_kind(job_type, organization or "").copy()
    digest.update(_with_length(params_json))
    return digest.hexdigest()


@functools.lru_cache(maxsize=1_000)
def _hash_of_the_kind(job_type: str, organization: str) -> hashlib._Hash:
    """Of what is the same from job to job."""
    return hashlib.sha256(_with_length(job_type) + _with_length(organization))


def _with_length(part: str) -> bytes:
    """The length in front: no two triples give the same bytes."""
    data = part.encode("utf-8")
    return b"%d:%b" % (len(data), data)


def new_name(clock_ms: int | None = None) -> str:
    """A new name, larger than every earlier one of this process.

    With `clock_ms` the name carries that time instead, and sorts among names of other times as the times do.
    """
    return _encode(_take(clock_ms, 1))


def new_names(n: int, clock_ms: int | None = None) -> list[str]:
    """`n` new names in rising order."""
    if n <= 0:
        return []
    first = _take(clock_ms, n)
    return [_encode(value) for value in range(first, first + n)]


class _Sequence:
    """The last number given out, and the rule for the next ones."""

    def __init__(self, may_go_back: bool):
        self._may_go_back = may_go_back
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._last = -1

    def take(self, ms: int, n: int) -> int:
        """The first of `n` numbers in a row."""
        with self._lock:
            last_ms = self._last >> _RANDOM_BITS
            # A clock that was set back must not lead to smaller names: stay in the last millisecond.
            follow = ms == last_ms or (ms < last_ms and not self._may_go_back)
            first = self._last + 1 if follow else _start_of(ms)
            self._last = first + n - 1
            return first


def _start_of(ms: int) -> int:
    # The top bit of the random part stays clear: counting up from here never reaches the next millisecond.
    return ms << _RANDOM_BITS | int.from_bytes(os.urandom(10), "big") >> 1


_by_clock = _Sequence(may_go_back=False)
_by_given_time = _Sequence(may_go_back=True)  # apart, so that a test's year 2099 does not reach real names


def _take(clock_ms: int | None, n: int) -> int:
    if clock_ms is None:
        return _by_clock.take(time.time_ns() // 1_000_000, n)
    if not 0 <= clock_ms <= _MAX_MS:
        raise ValueError(f"clock_ms must be milliseconds since 1970, between 0 and {_MAX_MS}; got {clock_ms}.")
    return _by_given_time.take(clock_ms, n)


def _encode(value: int) -> str:
    return "".join([_PAIRS[value >> shift & 1023] for shift in _SHIFTS])


def _forget_in_child() -> None:
    """A forked child would count on from its parent's last number, as its siblings do: it draws a new one instead."""
    _by_clock.reset()
    _by_given_time.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
