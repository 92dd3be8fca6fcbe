"""`metrics`: the numbers at a glance, for people, scripts and Prometheus."""

from __future__ import annotations

import click

from job_engine.cli import say
from job_engine.cli.group import examples
from job_engine.cli.home import Home
from job_engine.cli.options import json_option
from job_engine.cli.times import duration_text
from job_engine.metrics import Metrics


@click.command(
    "metrics",
    short_help="Show how many jobs are where, and how they do.",
    epilog=examples(
        "job-engine metrics",
        "job-engine metrics --organization ACME --json",
        "job-engine metrics --prometheus > /var/lib/node_exporter/job_engine.prom",
    ),
)
@click.option("--organization", metavar="NAME", help="Of one organization only.")
@click.option("--prometheus", "as_prometheus", is_flag=True, help="In Prometheus' text format.")
@json_option
@click.pass_obj
def command(home: Home, organization: str | None, as_prometheus: bool, as_json: bool) -> None:
    """Show how many jobs are where, how long they take, and what fails."""
    if as_json and as_prometheus:
        raise click.UsageError("Choose --json or --prometheus, not both.")
    engine = home.engine()
    if as_prometheus:
        from job_engine.prometheus import prometheus

        click.echo(prometheus(engine, organization), nl=False)
        return
    metrics = engine.metrics(organization)
    if as_json:
        say.document(metrics.to_dict())
    else:
        _show(metrics)


def _show(metrics: Metrics) -> None:
    jobs = (say.Column("STATUS"), say.Column("JOBS", right=True))
    say.table(jobs, list(metrics.job_count_by_status.items()))
    say.line()
    queued = (say.Column("PRIORITY"), say.Column("QUEUED", right=True))
    say.table(queued, list(metrics.queue_depth_by_priority.items()))
    if metrics.failure_rate_by_type:
        say.line()
        rates = (say.Column("TYPE"), say.Column("FAILED ATTEMPTS (LAST HOUR)", right=True))
        say.table(rates, [(name, f"{rate:.1%}") for name, rate in metrics.failure_rate_by_type.items()])
    say.line()
    oldest = metrics.oldest_waiting_job
    say.pairs(
        [
            ("Workers alive", metrics.workers),
            ("Completed per minute (last hour)", f"{metrics.throughput:.1f}"),
            ("Duration, average (last hour)", duration_text(metrics.job_duration_avg) or "-"),
            ("Duration, 95 % within", duration_text(metrics.job_duration_p95) or "-"),
            ("Wait, 95 % within", duration_text(metrics.wait_p95) or "-"),
            (
                "Oldest queued job",
                f"{oldest}, due {duration_text(metrics.oldest_waiting_seconds)} ago" if oldest else "-",
            ),
        ]
    )
