"""What the invoices app does in the background."""

from django.db import close_old_connections
from django.utils import timezone

from invoices.models import Invoice
from job_engine import JobContext, job


@job("send_invoice", timeout="Quick")
def send_invoice(ctx: JobContext, invoice: int) -> dict[str, bool]:
    close_old_connections()  # a worker lives longer than a database connection may
    # Only the first of two runs finds an invoice that was not sent. DoesNotExist is a permanent error: no retry.
    Invoice.objects.get(pk=invoice)
    sent_now = Invoice.objects.filter(pk=invoice, sent_at=None).update(sent_at=timezone.now())
    ctx.logger.info("Invoice %s is sent", invoice)
    return {"sent_now": bool(sent_now)}
