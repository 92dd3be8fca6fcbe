from argparse import ArgumentParser
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand

from invoices.billing import bill


class Command(BaseCommand):
    help = "Bill a customer; the invoice is sent in the background."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("customer")
        parser.add_argument("amount", type=Decimal)

    def handle(self, *args: Any, customer: str, amount: Decimal, **options: Any) -> None:
        invoice, job = bill(customer, amount)
        self.stdout.write(f"Invoice {invoice.pk} is written; job {job.name} sends it.")
