"""What becomes of a finished attempt whose outcome could not be committed as it was."""

from __future__ import annotations

from job_engine.core.error_text import describe
from job_engine.core.job import Outcome
from job_engine.core.states import Status


def given_back(outcome: Outcome) -> Outcome:
    """It was rolled back with its neighbours, and runs again at once. Nobody charges it for that."""
    return outcome.evolve(
        status=Status.QUEUED,
        give_back=True,
        used_connection=False,
        result=None,
        run_after=None,
        reason="its writes were rolled back with those of its group",
    )


def unwritable(outcome: Outcome, error: Exception) -> Outcome:
    """The database refuses the outcome itself, also when it is written alone: another try would end like this one."""
    text = describe(error)
    return outcome.evolve(
        status=Status.DEAD_LETTER,
        give_back=False,
        used_connection=False,
        result=None,
        progress=None,
        progress_message=None,
        run_after=None,
        processed=None,
        failed=None,
        error=text.summary,
        error_type="Permanent",
        traceback=text.traceback,
        reason="the database refused what the job should have recorded",
    )
