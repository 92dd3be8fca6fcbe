"""Call a handler with a job's parameters."""

from __future__ import annotations

import inspect
from typing import Any

from job_engine.context import JobContext
from job_engine.core.errors import BadArguments
from job_engine.core.job_type import JobType
from job_engine.core.language import _


def call(job_type: JobType, keywords: dict[str, Any], context: JobContext) -> Any:
    arguments = (context,) if job_type.wants_context else ()
    try:
        return job_type.handler(*arguments, **keywords)
    except TypeError as error:
        raise _as_bad_arguments(error, job_type, arguments, keywords) from error


def _as_bad_arguments(
    error: TypeError, job_type: JobType, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> TypeError | BadArguments:
    """A TypeError of the call itself, not of something deeper, means that the parameters do not fit the handler."""
    frame = error.__traceback__
    if frame is None or frame.tb_next is not None:
        return error
    return _mismatch(job_type, arguments, keywords) or error


def check_params(job_type: JobType, params: dict[str, Any]) -> None:
    """Raise BadArguments where the handler could not even be called with these: better told now than by a dead letter."""
    mismatch = _mismatch(job_type, (None,) if job_type.wants_context else (), params)
    if mismatch is not None:
        raise mismatch


def _mismatch(job_type: JobType, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> BadArguments | None:
    try:
        inspect.signature(job_type.handler).bind(*arguments, **keywords)
    except (TypeError, ValueError) as mismatch:
        return BadArguments(
            _("The handler of {0} does not accept these parameters: {1}.").format(job_type.name, mismatch)
        )
    return None
