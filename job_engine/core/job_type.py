"""A job type: its handler and its policy."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from job_engine.core.errors import InvalidJob
from job_engine.core.language import _
from job_engine.core.priority import check_priority
from job_engine.core.retry import PRESETS, RetryPolicy

TIMEOUTS = {"Standard": 300, "Bulk": 1800, "Quick": 60}
COMMITS = ("Group", "Each")
ISOLATIONS = ("Batch", "Process")
MOST = 2**31 - 1  # what every database's integer holds

_NAME = re.compile(r"[A-Za-z0-9_.:\-]{1,140}\Z")  # no separator of a lane, nothing a URL or a shell would mangle


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` claims in `seconds`."""

    count: int
    seconds: float

    @classmethod
    def parse(cls, spec: Rate | str | None) -> Rate | None:
        """`"100/m"`, `"5/s"`, `"1000/h"` or `"10/30s"`."""
        if spec is None or isinstance(spec, Rate):
            return spec
        match = re.fullmatch(r"(\d+)\s*/\s*(\d+(?:\.\d+)?)?\s*(s|m|h|d)", str(spec))
        if not match or int(match[1]) < 1:
            raise InvalidJob(
                _("Rate {0!r} cannot be read. Write a count and a time, such as '100/m' or '10/30s'.").format(spec)
            )
        unit = {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[3]]
        return cls(int(match[1]), float(match[2] or 1) * unit)


@dataclass(frozen=True, slots=True)
class JobType:
    name: str
    handler: Callable[..., Any]
    queue: str = "default"
    priority: str = "Normal"
    timeout: int = TIMEOUTS["Standard"]  # seconds; 0 is no limit
    max_attempts: int = 5
    retry: RetryPolicy = PRESETS["standard"]
    dedup_window: int = 300  # seconds in which an active twin stands for a new job; 0 turns it off
    concurrency: int | None = None  # how many may run at once, over all workers
    rate: Rate | None = None
    commit: str = "Group"  # "Each": this type's jobs never share a transaction
    isolation: str = "Batch"  # "Process": in a Frappe site, each job has a worker's process to itself
    idempotent: bool = True  # False: to run one again may repeat what it did outside the database; people are warned
    transient: tuple[Any, ...] = field(default=())  # errors this type sees differently from everybody else
    permanent: tuple[Any, ...] = field(default=())
    wants_context: bool = True

    def __post_init__(self) -> None:
        check_name("job type", self.name)
        check_name("queue", self.queue)
        check_priority(self.priority)
        check_timeout(self.timeout)
        check_max_attempts(self.max_attempts)
        if self.commit not in COMMITS:
            raise InvalidJob(
                _("Job type {0}: commit is {1!r}; choose one of: {2}.").format(
                    self.name, self.commit, ", ".join(COMMITS)
                )
            )
        if self.isolation not in ISOLATIONS:
            raise InvalidJob(
                _("Job type {0}: isolation is {1!r}; choose one of: {2}.").format(
                    self.name, self.isolation, ", ".join(ISOLATIONS)
                )
            )
        if self.dedup_window < 0:
            raise InvalidJob(
                _("Job type {0}: dedup_window is {1}; it is 0 (off) or seconds.").format(self.name, self.dedup_window)
            )
        if self.concurrency is not None and self.concurrency < 1:
            raise InvalidJob(
                _("Job type {0}: concurrency is {1}; it is 1 or more. To stop a type, pause it.").format(
                    self.name, self.concurrency
                )
            )
        if inspect.iscoroutinefunction(self.handler):
            raise InvalidJob(
                f"Job type {self.name}: the handler is a coroutine function. Handlers are plain functions: "
                "call asyncio.run() inside."
            )

    def policy(self) -> dict[str, Any]:
        """What is told of it to people and machines: plain values, limits apart."""
        return {
            "queue": self.queue,
            "priority": self.priority,
            "timeout": self.timeout,
            "max_attempts": self.max_attempts,
            "retry": self.retry.to_json(),
            "dedup_window": self.dedup_window,
            "commit": self.commit,
        }

    def evolve(self, **changes: Any) -> JobType:
        return dataclasses.replace(self, **changes)


def check_name(what: str, name: str) -> str:
    """`what` is "job type" or "queue"."""
    if not isinstance(name, str) or not _NAME.match(name):
        if what == "queue":
            said = _("{0!r} cannot name a queue: use 1 to 140 letters, digits, '_', '-', '.' or ':' and nothing else.")
        else:
            said = _(
                "{0!r} cannot name a job type: use 1 to 140 letters, digits, '_', '-', '.' or ':' and nothing else."
            )
        raise InvalidJob(said.format(name))
    return name


def check_timeout(timeout: int) -> int:
    if not isinstance(timeout, int) or not 0 <= timeout <= MOST:
        raise InvalidJob(
            _("The timeout is {0!r}; it is a whole number of seconds up to {1}, 0 for no limit.").format(timeout, MOST)
        )
    return timeout


def check_max_attempts(max_attempts: int) -> int:
    if not isinstance(max_attempts, int) or not 1 <= max_attempts <= MOST:
        raise InvalidJob(_("max_attempts is {0!r}; it is a whole number from 1 to {1}.").format(max_attempts, MOST))
    return max_attempts


def wants_context(handler: Callable[..., Any]) -> bool:
    """Whether the handler's first parameter is the job's context: it is called `ctx` or annotated so."""
    try:
        first = next(iter(inspect.signature(handler).parameters.values()), None)
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    if first is None or first.kind in (first.KEYWORD_ONLY, first.VAR_KEYWORD, first.VAR_POSITIONAL):
        return False
    annotation = first.annotation if isinstance(first.annotation, str) else getattr(first.annotation, "__name__", "")
    return first.name == "ctx" or annotation.rpartition(".")[2] == "JobContext"
