"""From what a caller asks for to a job that can be inserted: checked, serialised, its policy filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from job_engine.core import canonical
from job_engine.core.clock import utc
from job_engine.core.error_text import clean
from job_engine.core.errors import InvalidJob
from job_engine.core.fingerprint import job_hash, new_names
from job_engine.core.job import Job
from job_engine.core.job_type import JobType, check_max_attempts, check_name, check_timeout
from job_engine.core.language import _
from job_engine.core.priority import check_priority
from job_engine.core.registry import Registry, path_of, timeout_seconds, type_of_path
from job_engine.core.retry import MAX_DELAY
from job_engine.core.states import Status
from job_engine.settings import Settings
from job_engine.store.inserting import NewJob

MAX_KEY = 140  # characters of a dedup_key, an organization or a user; what the databases' indexes hold


OPTIONS = frozenset(
    "organization user run_after priority queue timeout max_attempts dedup_key dedup_window depends_on".split()
)


def check_options(options: Mapping[str, Any]) -> None:
    for word in options:
        if word not in OPTIONS:
            raise InvalidJob(_("enqueue has no option {0!r}. There are: {1}.").format(word, ", ".join(sorted(OPTIONS))))


def resolve(registry: Registry, what: str | Callable[..., Any]) -> tuple[JobType, str | None]:
    """The type that is meant and, for a trusted caller's function, its dotted path."""
    if callable(what):
        mine = registry.of_handler(what)
        if mine is not None:
            return mine, None
        what = path_of(what)
    known = registry.get(what)
    if known is not None:
        return known, None
    if "." in what:
        return type_of_path(what), what
    return registry[what], None  # raises, with the names there are


def build(
    job_type: JobType,
    handler: str | None,
    params: Sequence[dict[str, Any] | None],
    settings: Settings,
    now: datetime,
    *,
    organization: str | None = None,
    user: str | None = None,
    run_after: datetime | timedelta | float | None = None,
    priority: str | None = None,
    queue: str | None = None,
    timeout: int | str | None = None,
    max_attempts: int | None = None,
    dedup_key: str | None = None,
    dedup_window: float | None = None,
    depends_on: str | Job | Sequence[str | Job] | None = None,
) -> list[NewJob]:
    parents = _parents(depends_on)
    for what, text in (("organization", organization), ("user", user), ("dedup_key", dedup_key)):
        _check_key(what, text)
    window = job_type.dedup_window if dedup_window is None else dedup_window
    if not (isinstance(window, (int, float)) and 0 <= window <= MAX_DELAY):
        raise InvalidJob(_("dedup_window is {0!r}; it is 0 (off) or a number of seconds.").format(window))
    rank = check_priority(priority or job_type.priority)
    queue = check_name("queue", queue or job_type.queue)
    due = moment(run_after, now)
    most = check_max_attempts(job_type.max_attempts if max_attempts is None else max_attempts)
    seconds = check_timeout(job_type.timeout if timeout is None else timeout_seconds(timeout))
    parent = parents[0] if parents else None
    texts = [canonical.encode({} if p is None else p, "params", settings.payload_bytes) for p in params]
    # By position, in the order of Job's fields: every enqueue waits for it, and keywords take longer.
    # fmt: off
    return [
        NewJob(Job(
            name, job_type.name, Status.QUEUED, rank, queue, organization or None, user, handler, text, due,
            0, most, 0, seconds, job_hash(job_type.name, organization, text), dedup_key, parent,
            0, 0.0, None, None, None, None,  # blockers, progress, its message, result, checkpoint, last_error
            None, None, None, None, None, None, None, None, None,  # error_type to canceled_by
            now, now, True,
        ), window, parents)
        for name, text in zip(new_names(len(texts)), texts, strict=True)
    ]
    # fmt: on


def _parents(depends_on: str | Job | Sequence[str | Job] | None) -> tuple[str, ...]:
    if depends_on is None:
        return ()
    listed = [depends_on] if isinstance(depends_on, (str, Job)) else depends_on
    return tuple(dict.fromkeys(p.name if isinstance(p, Job) else p for p in listed))


def moment(run_after: datetime | timedelta | float | None, now: datetime) -> datetime:
    """A time, or a wait from now. Time zones are honoured; a time without one is taken as UTC."""
    if run_after is None:
        return now
    if isinstance(run_after, datetime):
        return utc(run_after)
    if not isinstance(run_after, (timedelta, int, float)):
        raise InvalidJob(
            _("run_after is {0!r}; it is a datetime, a timedelta or a number of seconds from now.").format(run_after)
        )
    try:
        wait = run_after if isinstance(run_after, timedelta) else timedelta(seconds=run_after)
        return now + max(wait, timedelta())
    except (OverflowError, ValueError):
        raise InvalidJob(
            _("run_after is {0!r}, which is no moment that a database can store.").format(run_after)
        ) from None


def _check_key(what: str, text: str | None) -> None:
    if text is None:
        return
    if not isinstance(text, str):
        raise InvalidJob(_("{0} is a {1}, not a text.").format(what, type(text).__name__))
    if len(text) > MAX_KEY:
        raise InvalidJob(_("{0} has {1} characters; at most {2} are possible.").format(what, len(text), MAX_KEY))
    if clean(text) != text:
        raise InvalidJob(_("{0} is {1!r}: NUL and lone surrogates cannot be stored.").format(what, text))
    if what == "dedup_key" and not text:
        raise InvalidJob(_("The dedup_key is empty: every caller without a key would share it. Pass None for no key."))
