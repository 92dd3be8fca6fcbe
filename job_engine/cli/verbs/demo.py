"""`demo`: see it work."""

from __future__ import annotations

import click

from job_engine.cli.group import examples


@click.command("demo", epilog=examples("job-engine demo"))
def command() -> None:
    """See it work: some hundred jobs, failures, a killed worker, and a check that nothing was lost."""
    from job_engine.demo import main

    raise SystemExit(main())
