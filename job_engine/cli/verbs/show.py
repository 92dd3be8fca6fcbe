"""`show`: all about one job, what matters first."""

from __future__ import annotations

import json
from typing import Any

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option
from job_engine.cli.shapes import job_shape, stored_json
from job_engine.cli.times import duration_text, time_text
from job_engine.cli.verbs.explain import explained
from job_engine.core.job import Job
from job_engine.core.redact import redact_text
from job_engine.core.states import Status


@click.command(
    "show",
    short_help="Show all about one job.",
    epilog=examples("job-engine show 01kxyz...", "job-engine show 01kxyz... --json | jq .job.result"),
)
@click.argument("name")
@json_option
@click.pass_obj
def command(home: Home, name: str, as_json: bool) -> None:
    """Show one job: why it is where it is, its fields, parameters, result and error. Secrets are masked."""
    engine, job, sentence = explained(home, name)
    parents = engine.store.parents_of(name)
    dependents = engine.store.dependents_of(name)
    if as_json:
        say.document(
            {
                "explanation": sentence,
                "job": job_shape(job),
                "parents": [{"name": parent, "status": status.value} for parent, status in parents],
                "dependents": dependents,
            }
        )
        return
    say.heading(sentence)
    say.line()
    say.pairs(_fields(job, parents, dependents))
    for title, text in (
        ("Parameters", job.params_json),
        ("Result", job.result_json),
        ("Checkpoint", job.checkpoint_json),
    ):
        _block(title, None if text is None else _pretty(stored_json(text)))
    _block("Error", job.last_error and redact_text(job.last_error))
    _block("Traceback", job.traceback and redact_text(job.traceback))


def _fields(job: Job, parents: list[tuple[str, Status]], dependents: list[str]) -> list[tuple[str, Any]]:
    lost = f" ({job.lost} lost with their worker)" if job.lost else ""
    ran = job.started_at and job.ended_at and duration_text((job.ended_at - job.started_at).total_seconds())
    progress = f"{job.progress:g} % {redact_text(job.progress_message or '')}".strip()
    return [
        ("Name", job.name),
        ("Type", job.job_type),
        ("Status", job.status),
        ("Attempts", f"{job.attempts} of {job.max_attempts}{lost}"),
        ("Priority", job.priority),
        ("Queue", job.queue),
        ("Organization", job.organization),
        ("User", job.user),
        ("Handler", job.handler),
        ("Timeout", duration_text(job.timeout) if job.timeout else "none"),
        ("Dedup key", job.dedup_key),
        ("Depends on", ", ".join(f"{name} ({status})" for name, status in parents)),
        ("Dependents", ", ".join(dependents)),
        ("Created", time_text(job.creation)),
        ("Run after", time_text(job.run_after) if job.run_after != job.creation else ""),
        ("Started", time_text(job.started_at)),
        ("Ended", time_text(job.ended_at) + (f" (the last attempt took {ran})" if ran else "")),
        ("Worker", job.lease_owner),
        ("Lease until", time_text(job.lease_expires_at)),
        ("Progress", progress if job.progress or job.progress_message else ""),
    ]


def _pretty(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _block(title: str, text: str | None) -> None:
    if text:
        say.line()
        say.heading(title)
        for line in text.rstrip().splitlines():
            say.line(f"  {line}")
