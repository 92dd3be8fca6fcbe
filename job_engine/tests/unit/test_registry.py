"""What @job accepts, and what it refuses when the module is imported and not when the first job runs."""

from __future__ import annotations

from typing import Any

import pytest

from job_engine.core.errors import InvalidJob, UnknownJobType
from job_engine.core.job_type import TIMEOUTS, Rate
from job_engine.core.registry import POLICY, Registry, path_of, type_of_path
from job_engine.core.retry import PRESETS


@pytest.fixture
def registry() -> Registry:
    return Registry()


def module_level(**params: Any) -> None:
    pass


def test_job_without_parentheses_is_refused_with_what_to_write(registry: Registry) -> None:
    with pytest.raises(InvalidJob) as refusal:

        @registry.job  # type: ignore[arg-type]
        def send_invoice() -> None: ...

    assert '@job("send_invoice")' in str(refusal.value)
    assert len(registry) == 0


def test_the_function_itself_is_unchanged_and_its_policy_kept(registry: Registry) -> None:
    decorated = registry.job("send", retry="quick", rate="5/s", timeout="Bulk", priority="High")(module_level)
    assert decorated is module_level
    known = registry["send"]
    assert (known.handler, known.retry, known.rate) == (module_level, PRESETS["quick"], Rate(5, 1.0))
    assert (known.timeout, known.priority) == (TIMEOUTS["Bulk"], "High")


def test_an_unknown_option_is_refused_with_those_there_are(registry: Registry) -> None:
    with pytest.raises(InvalidJob) as refusal:
        registry.job("send", max_attemps=3)
    for words in ("'max_attemps'", *POLICY):
        assert words in str(refusal.value)


@pytest.mark.parametrize(
    "policy",
    [
        {"priority": "Urgent"},
        {"queue": "two words"},
        {"timeout": -1},
        {"timeout": "Forever"},
        {"max_attempts": 0},
        {"commit": "Sometimes"},
        {"dedup_window": -1},
        {"concurrency": 0},
        {"rate": "fast"},
    ],
    ids=str,
)
def test_a_policy_that_cannot_work_is_refused_with_its_value(registry: Registry, policy: dict[str, Any]) -> None:
    (value,) = policy.values()
    with pytest.raises(InvalidJob, match=str(value)):
        registry.job("send", **policy)(module_level)
    assert len(registry) == 0


def test_a_coroutine_function_is_refused_with_what_to_do(registry: Registry) -> None:
    async def send() -> None: ...

    with pytest.raises(InvalidJob, match=r"call asyncio\.run\(\) inside"):
        registry.job("send")(send)


def test_two_functions_under_one_name_are_refused_and_the_first_stays(registry: Registry) -> None:
    registry.job("send")(module_level)
    with pytest.raises(InvalidJob, match=r"registered twice: by .*module_level and by .*lambda"):
        registry.job("send")(lambda: None)
    assert registry["send"].handler is module_level


def test_a_module_that_is_imported_again_registers_its_function_again(registry: Registry) -> None:
    registry.job("send")(module_level)
    registry.job("send", priority="Low")(module_level)
    assert registry["send"].priority == "Low"


def test_an_unknown_type_is_refused_with_those_there_are(registry: Registry) -> None:
    with pytest.raises(UnknownJobType, match="import the module"):
        registry["sned"]
    registry.job("send")(module_level)
    with pytest.raises(UnknownJobType, match=r"'sned'\. Registered: send") as refusal:
        registry["sned"]
    assert refusal.value.job_type == "sned"


def test_a_module_level_function_is_found_again_by_its_path() -> None:
    assert type_of_path(path_of(module_level)).handler is module_level


def test_a_function_that_no_worker_could_find_is_refused() -> None:
    with pytest.raises(InvalidJob, match="is not a module-level function"):
        path_of(lambda: None)


@pytest.mark.parametrize("path", ["no_such_module.function", f"{__name__}.no_such_function", f"{__name__}.__doc__"])
def test_a_path_that_names_no_function_is_refused(path: str) -> None:
    with pytest.raises(UnknownJobType, match=path) as refusal:
        type_of_path(path)
    assert refusal.value.job_type == path
