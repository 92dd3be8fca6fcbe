"""The job types of a seeded site. Only there are they registered: `job-engine seed` names this module in the site's
configuration, and `seed --remove` takes it out again.

They do nothing to anybody, but they do it as real handlers would: in steps, with progress, and failing now and then.
"""

from __future__ import annotations

import time
from typing import Any

from job_engine import JobContext, PermanentError, TransientError, job

STEP_SECONDS = 0.05
STEPS = 8


def _work(ctx: JobContext, what: str, of: int, seconds: float | None = None) -> None:
    """Some steps, from where the last attempt came to."""
    begin = int(ctx.checkpoint.get("step", 0))
    pause = STEP_SECONDS if seconds is None else seconds / STEPS
    for step in range(begin, STEPS):
        ctx.check_canceled()
        ctx.progress(100 * step / STEPS, f"{what} {of * step // STEPS:,} of {of:,}")
        time.sleep(pause)
        ctx.checkpoint["step"] = step + 1


@job("invoice_pdf", dedup_window=0)
def invoice_pdf(ctx: JobContext, invoice: str) -> dict[str, Any]:
    """Print an invoice as PDF."""
    _work(ctx, "Page", 4)
    return {"file": f"/private/files/{invoice}.pdf"}


@job("email_invoice", queue="short", priority="High", dedup_window=0)
def email_invoice(ctx: JobContext, invoice: str, to: str) -> dict[str, Any]:
    """Send an invoice to its customer."""
    _work(ctx, "Part", 2)
    return {"message_id": f"<{invoice}@mail.example.com>"}


@job("webhook_delivery", queue="short", dedup_window=0, timeout="Quick")
def webhook_delivery(ctx: JobContext, event: str, url: str) -> dict[str, Any]:
    """Tell another system of an event."""
    return {"status": 202}


@job("payment_capture", queue="short", priority="Critical", dedup_window=0, timeout="Quick", idempotent=False)
def payment_capture(ctx: JobContext, payment: str, amount: float) -> dict[str, Any]:
    """Capture a payment that was authorized."""
    return {"captured": amount}


@job("import_orders", queue="long", dedup_window=0, timeout="Bulk", retry=[5, 30, 120], max_attempts=4)
def import_orders(
    ctx: JobContext, file: str, rows: int = 1000, outage_at: int = 0, seconds: float = 2.0
) -> dict[str, Any]:
    """Import the orders of a marketplace's file.

    With `outage_at`, the marketplace cannot be reached once, at this step: the next attempt goes on from there.
    """
    begin = int(ctx.checkpoint.get("step", 0))
    for step in range(begin, STEPS):
        ctx.check_canceled()
        ctx.progress(100 * step / STEPS, f"Row {rows * step // STEPS:,} of {rows:,}")
        time.sleep(seconds / STEPS)
        if outage_at and step == outage_at and not ctx.checkpoint.get("outage"):
            ctx.checkpoint.update(step=step, outage=True)
            ctx.save_checkpoint()
            raise PermanentError(f"Marketplace login refused at row {rows * step // STEPS:,}: the access token expired")
    return {"imported": rows, "file": f"/private/files/{file}.log"}


@job("sync_inventory", dedup_window=0)
def sync_inventory(ctx: JobContext, warehouse: str) -> dict[str, Any]:
    """Compare the stock with a warehouse's own numbers."""
    _work(ctx, "Item", 1200)
    return {"changed": 17}


@job("price_update", queue="long", priority="Low", dedup_window=0)
def price_update(ctx: JobContext, supplier: str, items: int = 500) -> dict[str, Any]:
    """Take over a supplier's price list."""
    _work(ctx, "Item", items)
    return {"updated": items}


@job("thumbnail", queue="short", priority="Low", dedup_window=0, timeout="Quick")
def thumbnail(ctx: JobContext, image: str) -> dict[str, Any]:
    """Make small pictures of a product's photograph."""
    return {"file": f"/files/thumb-{image}"}


@job("send_newsletter", queue="long", dedup_window=0, timeout="Bulk", idempotent=False)
def send_newsletter(ctx: JobContext, campaign: str, recipients: int = 1000) -> dict[str, Any]:
    """Send a newsletter to all who asked for it."""
    _work(ctx, "Sent", recipients, seconds=2.0)
    return {"sent": recipients}


@job("monthly_statement", queue="long", dedup_window=0, timeout="Bulk")
def monthly_statement(ctx: JobContext, customer: str, month: str) -> dict[str, Any]:
    """Sum up a customer's month."""
    _work(ctx, "Entry", 90)
    return {"file": f"/private/files/statement-{month}.pdf"}


@job("reconcile_bank", queue="long", dedup_window=0, timeout="Bulk", concurrency=2)
def reconcile_bank(ctx: JobContext, account: str) -> dict[str, Any]:
    """Match a bank's statement with payments."""
    _work(ctx, "Line", 640)
    return {"matched": 631, "open": 9}


@job("geocode_address", dedup_window=0, rate="600/m", max_attempts=3)
def geocode_address(ctx: JobContext, address: str) -> dict[str, Any]:
    """Look up where a customer is."""
    if ctx.attempt == 1 and address.endswith("?"):
        raise TransientError("HTTP 429 from maps.example.com: too many requests")
    return {"latitude": 52.52, "longitude": 13.4}
