"""`seed`: something to look at. In a Frappe site only."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home


@click.command(
    "seed",
    short_help="Fill the site with two weeks of made-up jobs.",
    epilog=examples("job-engine seed", "job-engine seed --yes --jobs 2000", "job-engine seed --remove"),
)
@click.option("--jobs", default=12_000, show_default=True, type=click.IntRange(100, 200_000), help="About how many.")
@click.option("--again", is_flag=True, help="Where the site is seeded already: remove that first.")
@click.option("--remove", "only_remove", is_flag=True, help="Take away all that an earlier seed has made.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.pass_obj
def command(home: Home, jobs: int, again: bool, only_remove: bool, is_sure: bool) -> None:
    """Make three organizations with a manager and a user each, a dozen job types, and two weeks of jobs: some run, wait,
    failed or need a person.

    For a site to try things out on. The jobs that wait run on the site's own workers when they are due; they do nothing to
    anybody. The users have no password until an administrator gives them one.
    """
    from job_engine.site import seed

    engine = home.engine()
    if only_remove or again:
        _ask(is_sure, f"Remove the seeded organizations of {home.address()} with all their jobs and users?")
        removed = seed.remove(engine)
        say.line(f"Removed {removed} jobs." if removed or not only_remove else "This site is not seeded.")
    if only_remove:
        return
    _ask(is_sure, f"Fill {home.address()} with three made-up organizations, their users and about {jobs} jobs?")
    made = seed.seed(engine, jobs)
    say.line(f"Made {made} jobs. Look at them in Desk: /app/job-monitor. To remove everything again: seed --remove")


def _ask(is_sure: bool, question: str) -> None:
    if not is_sure:
        click.confirm(question, abort=True)
