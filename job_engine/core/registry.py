"""Which job types exist. `@job` fills the registry that every engine uses unless it is given another."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from job_engine.core.errors import InvalidJob, UnknownJobType
from job_engine.core.job_type import TIMEOUTS, JobType, Rate, wants_context
from job_engine.core.language import _
from job_engine.core.retry import RetryPolicy

Handler = TypeVar("Handler", bound=Callable[..., Any])


POLICY = tuple(sorted({f.name for f in dataclasses.fields(JobType)} - {"name", "handler"}))


class Registry:
    def __init__(self) -> None:
        self._types: dict[str, JobType] = {}
        self._by_handler: dict[int, JobType] = {}

    def job(
        self,
        name: str,
        *,
        retry: RetryPolicy | str | float | list[float] | dict[str, Any] | None = None,
        rate: Rate | str | None = None,
        timeout: int | str | None = None,
        **policy: Any,
    ) -> Callable[[Handler], Handler]:
        """Register the decorated function as the handler of job type `name`. The function itself is unchanged."""
        if not isinstance(name, str):
            raise InvalidJob(f'@job needs the type\'s name: write @job("{getattr(name, "__name__", "name")}").')
        for word in policy:
            if word not in POLICY:
                raise InvalidJob(f"@job has no option {word!r}. There are: {', '.join(POLICY)}.")
        if retry is not None:
            policy["retry"] = RetryPolicy.parse(retry)
        if timeout is not None:
            policy["timeout"] = timeout_seconds(timeout)

        def register(handler: Handler) -> Handler:
            policy.setdefault("wants_context", wants_context(handler))
            self.add(JobType(name=name, handler=handler, rate=Rate.parse(rate), **policy))
            return handler

        return register

    def add(self, job_type: JobType) -> None:
        known = self._types.get(job_type.name)
        if known is not None and _address(known.handler) != _address(job_type.handler):
            raise InvalidJob(
                f"Job type {job_type.name} is registered twice: by {_address(known.handler)} and by "
                f"{_address(job_type.handler)}. Give one of them another name."
            )
        self._types[job_type.name] = job_type
        self._by_handler[id(job_type.handler)] = job_type

    def of_handler(self, handler: Callable[..., Any]) -> JobType | None:
        """The type that this very function is the handler of."""
        found = self._by_handler.get(id(handler))
        return found if found is not None and found.handler is handler else None

    def get(self, name: str) -> JobType | None:
        return self._types.get(name)

    def __getitem__(self, name: str) -> JobType:
        found = self._types.get(name)
        if found is None:
            known = ", ".join(sorted(self._types)) or _("none; import the module that has your @job functions")
            raise UnknownJobType(_("No job type is called {0!r}. Registered: {1}.").format(name, known), job_type=name)
        return found

    def __iter__(self) -> Iterator[JobType]:
        return iter(sorted(self._types.values(), key=lambda t: t.name))

    def __len__(self) -> int:
        return len(self._types)


def timeout_seconds(timeout: int | str) -> int:
    if isinstance(timeout, str):
        if timeout not in TIMEOUTS:
            raise InvalidJob(
                _("Timeout {0!r} does not exist. Give seconds or one of: {1}.").format(timeout, ", ".join(TIMEOUTS))
            )
        return TIMEOUTS[timeout]
    return timeout


@functools.lru_cache(maxsize=512)
def type_of_path(path: str) -> JobType:
    """The job type of a trusted caller's dotted path: default policy, the path as its name."""
    module_name, _, attribute = path.rpartition(".")
    try:
        handler: Any = importlib.import_module(module_name)
        handler = getattr(handler, attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownJobType(
            f"{path!r} names no function that can be imported here: {error}. "
            "If it was renamed, keep the old name importable until its last job has run.",
            job_type=path,
        ) from error
    if not callable(handler):
        raise UnknownJobType(f"{path!r} is a {type(handler).__name__}, not a function.", job_type=path)
    return JobType(name=path, handler=handler, wants_context=wants_context(handler))


def path_of(function: Callable[..., Any]) -> str:
    """The dotted path of a module-level function, the only kind that another process can find again."""
    path = _address(function)
    if "<" in path or type_of_path(path).handler is not function:
        raise InvalidJob(f"{path} is not a module-level function: a worker could not find it. Move it to a module.")
    return path


def _address(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"


default_registry = Registry()
job = default_registry.job
