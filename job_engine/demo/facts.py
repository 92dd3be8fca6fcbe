"""Read, when everything has ended, what the verdict judges: jobs, their history, their effects."""

from __future__ import annotations

from job_engine.core.states import Status
from job_engine.demo import effects
from job_engine.demo.verdict import Facts, JobFact
from job_engine.engine import Engine

_HISTORY = """
SELECT job, SUM(to_status = 'Completed'), MIN(claimed_at), MIN(CASE WHEN to_status = 'Completed' THEN creation END)
FROM {log} GROUP BY job
"""


def gather(engine: Engine, refused: int) -> Facts:
    """One transaction: what is compared was true at one moment."""
    with engine.store.transaction() as session:
        done = effects.read_effects(session)
        imported = effects.read_imported_rows(session)
        history = {job: line for job, *line in session.rows(_HISTORY)}
        jobs = session.rows("SELECT name, status, attempts, lost FROM {job}")
    facts = {
        name: JobFact(Status(status), attempts, lost, done.pop(name, 0), *history.get(name, (0, None, None)))
        for name, status, attempts, lost in jobs
    }
    return Facts(facts, stray_effects=done.total(), imported=imported, refused=refused)
