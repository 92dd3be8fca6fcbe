"""Bill a customer: the invoice and the job that sends it exist together or not at all."""

from decimal import Decimal

from django.db import connection, transaction
from mysite.jobs import engine

from invoices.models import Invoice
from job_engine import Job


def bill(customer: str, amount: Decimal) -> tuple[Invoice, Job]:
    jobs = engine()  # opened before the transaction: the first time, it makes its tables
    with transaction.atomic():
        invoice = Invoice(customer=customer, amount=amount)
        invoice.full_clean()
        invoice.save()
        job = jobs.enqueue("send_invoice", {"invoice": invoice.pk}, connection=connection)
    return invoice, job
