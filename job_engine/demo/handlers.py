"""The demo's job types. They sleep where a real handler would work; everything else is as in an application.

Retries come within a second or two, because nobody wants to watch the default of a minute. After the demo, a worker with
`--app job_engine.demo.handlers` runs what is retried.
"""

from __future__ import annotations

import time

from job_engine.context import JobContext
from job_engine.core.errors import PermanentError
from job_engine.core.registry import job
from job_engine.demo import effects

SOON = [0.6, 1.2]  # seconds before the second attempt, and before every later one


class ServiceUnavailable(Exception):
    """What an HTTP client raises. The engine reads the status and knows that it may be better later."""

    status_code = 503


@job("thumbnail", retry=SOON)
def thumbnail(ctx: JobContext, image: str) -> None:
    time.sleep(0.03)
    effects.record(ctx)


@job("send_email", priority="High", retry=SOON)
def send_email(ctx: JobContext, to: str, refusals: int = 0) -> None:
    """Send through a service that refuses the first few times."""
    time.sleep(0.02)
    if ctx.attempt <= refusals:
        raise ServiceUnavailable("503 from the mail service")
    effects.record(ctx)


@job("invoice", priority="High", dedup_window=0)
def invoice(ctx: JobContext, number: int) -> dict[str, str]:
    time.sleep(0.05)
    effects.record(ctx)
    return {"file": f"/files/invoice-{number}.pdf"}


@job("email_invoice", priority="High")
def email_invoice(ctx: JobContext, number: int) -> None:
    """Depends on the invoice: there is nothing to send before it is made."""
    time.sleep(0.02)
    effects.record(ctx)


@job("charge_card", priority="High", retry=SOON)
def charge_card(ctx: JobContext, order: int, expired: bool = False) -> None:
    if expired:
        raise PermanentError("the card has expired")
    effects.record(ctx)


@job("partner_sync", priority="High", retry=SOON, max_attempts=3)
def partner_sync(ctx: JobContext) -> None:
    """Talk to a service that is down for as long as the demo runs."""
    if effects.is_down(ctx, effects.PARTNER):
        raise ServiceUnavailable("503 from the partner's API")
    effects.record(ctx)


@job("pdf_report", priority="Low", retry=SOON)
def pdf_report(ctx: JobContext, title: str, pages: int) -> dict[str, int]:
    for page in range(1, pages + 1):
        time.sleep(0.1)
        ctx.progress(100 * page / pages, f"page {page} of {pages}")
    effects.record(ctx)
    return {"pages": pages}


@job("nightly_import", priority="High", retry=SOON)
def nightly_import(ctx: JobContext, batches: int, rows: int) -> None:
    """Import in batches. Each is committed with the checkpoint that counts it, so that none is imported twice."""
    for batch in range(ctx.checkpoint.get("batches", 0), batches):
        time.sleep(0.2)
        effects.import_rows(ctx, range(batch * rows, (batch + 1) * rows))
        ctx.checkpoint["batches"] = batch + 1
        ctx.save_checkpoint()
        ctx.progress(100 * (batch + 1) / batches, f"batch {batch + 1} of {batches}")
    effects.record(ctx)
    ctx.report(processed=batches * rows)
