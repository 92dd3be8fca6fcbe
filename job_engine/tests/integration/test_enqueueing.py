"""What can be enqueued. Of what cannot, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from job_engine.core.errors import InvalidJob, InvalidParams, PayloadTooLarge
from job_engine.core.registry import Registry
from job_engine.engine import Engine
from job_engine.store import inserting
from job_engine.store.inserting import NewJob
from job_engine.store.session import Session

PAYLOADS = {
    "no object": ([1], InvalidParams),
    "a set of objects": ({"a": {object()}}, InvalidParams),
    "a function": ({"f": print}, InvalidParams),
    "too large": ({"a": "x" * 70_000}, PayloadTooLarge),
    "NaN": ({"a": float("nan")}, InvalidParams),
    "lone surrogate": ({"a": "\ud800"}, InvalidParams),
    "itself": (lambda d: (d.update(a=d), d)[1], InvalidParams),
}


@pytest.mark.parametrize(("params", "error"), PAYLOADS.values(), ids=PAYLOADS)
def test_a_payload_that_cannot_be_stored_writes_nothing(
    engine: Engine, registry: Registry, params: Any, error: type[Exception]
) -> None:
    registry.job("work")(lambda **params: None)
    params = params({}) if callable(params) else params
    with pytest.raises(error, match="params"):
        engine.enqueue("work", params)
    with pytest.raises(error):
        engine.enqueue_many("work", [{"fine": 1}, params, {"fine": 2}])
    assert engine.count() == 0


NONSENSE: dict[str, dict[str, Any]] = {
    "timeout below zero": {"timeout": -1},
    "timeout too large": {"timeout": 10**12},
    "timeout of a fraction": {"timeout": 0.4},
    "timeout in words": {"timeout": "soon"},
    "no attempt": {"max_attempts": 0},
    "too many attempts": {"max_attempts": 10**12},
    "priority": {"priority": "Urgent"},
    "queue": {"queue": "a b"},
    "organization too long": {"organization": "x" * 141},
    "organization with NUL": {"organization": "a\x00"},
    "organization with a lone surrogate": {"organization": "a\ud800"},
    "organization of a wrong type": {"organization": 5},
    "dedup_key too long": {"dedup_key": "x" * 141},
    "an empty dedup_key": {"dedup_key": ""},
    "dedup_window below zero": {"dedup_window": -1},
    "dedup_window that is no number": {"dedup_window": float("nan")},
    "run_after that is no number": {"run_after": float("nan")},
    "run_after never": {"run_after": float("inf")},
    "run_after beyond the calendar": {"run_after": 1e12},
    "run_after in words": {"run_after": "tomorrow"},
    "a misspelt option": {"prioritty": "High"},
    "no name of a parent": {"depends_on": [""]},
    "a parent of a wrong type": {"depends_on": 7},
}


@pytest.mark.parametrize("options", NONSENSE.values(), ids=NONSENSE)
def test_options_that_make_no_sense_are_refused_in_words(
    engine: Engine, registry: Registry, options: dict[str, Any]
) -> None:
    registry.job("work")(lambda **params: None)
    with pytest.raises((InvalidJob, TypeError)):
        engine.enqueue("work", **options)
    assert engine.count() == 0


def test_many_jobs_are_made_all_or_none(engine: Engine, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.job("work")(lambda **params: None)
    assert engine.enqueue_many("work", []) == []
    answers = engine.enqueue_many("work", ({"n": n} for n in range(1203)))
    assert (len({a.name for a in answers}), engine.count()) == (1203, 1203)
    assert [a.params for a in answers] == [{"n": n} for n in range(1203)]
    insert = inserting._insert_new
    batches: list[int] = []

    def fail_at_the_second(session: Session, new: Sequence[NewJob]) -> set[str]:
        batches.append(len(new))
        if len(batches) == 2:
            raise RuntimeError("in the middle")
        return insert(session, new)

    monkeypatch.setattr(inserting, "_insert_new", fail_at_the_second)
    with pytest.raises(RuntimeError, match="middle"):
        engine.enqueue_many("work", [{"m": n} for n in range(1203)])
    assert engine.count() == 1203
