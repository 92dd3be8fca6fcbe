"""Do the same to each of several named jobs. One that cannot be done does not keep the others from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from job_engine.cli import say
from job_engine.core.errors import JobEngineError, StoreUnavailable
from job_engine.core.job import Job
from job_engine.core.redact import redact_text


@dataclass(slots=True)
class Done:
    jobs: list[Job] = field(default_factory=list)
    errors: list[dict[str, str]] = field(default_factory=list)


def each(names: Iterable[str], act: Callable[[str], Job]) -> Done:
    done = Done()
    for name in names:
        try:
            done.jobs.append(act(name))
        except StoreUnavailable:
            raise
        except JobEngineError as error:
            say.error(str(error))
            done.errors.append({"name": name, "error": redact_text(str(error))})
    return done
