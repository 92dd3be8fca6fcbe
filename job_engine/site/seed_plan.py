"""What a seeded site is made of: organizations, what each type does all day, and what goes wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Params = Callable[[Random, int], dict[str, Any]]

# Name, and its share of the work.
ORGANIZATIONS = {"Harbour Books": 5, "Alpine Outfitters": 3, "Orchard Foods": 2}


def slug(organization: str) -> str:
    return organization.lower().replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Trouble:
    """One way to fail. `text` may have {n}: what differs from job to job."""

    chance: float  # of an attempt
    text: str
    is_permanent: bool = False
    times_out: bool = False


@dataclass(frozen=True, slots=True)
class Routine:
    share: int  # of all jobs
    seconds: float  # that an attempt usually takes
    params: Params
    troubles: tuple[Trouble, ...] = ()
    spread: float = 0.5  # of the seconds, as a log-normal's sigma


def _of(**words: Any) -> Params:
    """Parameters with {n} replaced by a number that no other job has."""
    return lambda rng, n: {
        word: value.format(n=n, pick=rng.choice("ABCDEFGH")) if isinstance(value, str) else value(rng)
        for word, value in words.items()
    }


ROUTINES: dict[str, Routine] = {
    "invoice_pdf": Routine(
        20,
        1.4,
        _of(invoice="INV-{n:05d}"),
        (Trouble(0.004, "ValueError: Invoice INV-{n:05d} has no billing address", is_permanent=True),),
    ),
    "email_invoice": Routine(
        14,
        0.6,
        _of(invoice="INV-{n:05d}", to="customer-{n}@example.com"),
        (
            Trouble(0.03, "SMTPServerDisconnected: mail.example.com closed the connection"),
            Trouble(0.003, "SMTPRecipientsRefused: 550 mailbox customer-{n}@example.com unknown", is_permanent=True),
        ),
    ),
    "webhook_delivery": Routine(
        22,
        0.18,
        _of(event="order.paid", url="https://hooks.example.com/orders/{n}"),
        (Trouble(0.05, "HTTPError: 503 Service Unavailable from hooks.example.com"),),
    ),
    "payment_capture": Routine(
        12,
        0.9,
        _of(payment="PAY-{n:06d}", amount=lambda rng: round(rng.uniform(5, 400), 2)),
        (
            Trouble(0.012, "ReadTimeout: payments.example.com did not answer within 10 s"),
            Trouble(0.004, "CardError: payment PAY-{n:06d} was declined: insufficient funds", is_permanent=True),
        ),
    ),
    "import_orders": Routine(
        3,
        38.0,
        _of(file="orders-{n}.csv", rows=lambda rng: rng.randrange(400, 12_000, 10)),
        (
            Trouble(0.04, "ConnectionError: marketplace.example.com reset the connection"),
            Trouble(0.03, "ValueError: Row {n}: unknown SKU 'HB-{n}'", is_permanent=True),
        ),
        0.8,
    ),
    "sync_inventory": Routine(
        9,
        6.5,
        _of(warehouse="Warehouse {pick}"),
        (Trouble(0.02, "QueryDeadlockError: Deadlock found when trying to get lock; try restarting transaction"),),
    ),
    "price_update": Routine(2, 11.0, _of(supplier="Supplier {pick}", items=lambda rng: rng.randrange(80, 900))),
    "thumbnail": Routine(
        16,
        0.25,
        _of(image="product-{n}.jpg"),
        (Trouble(0.006, "UnidentifiedImageError: cannot identify image file 'product-{n}.jpg'", is_permanent=True),),
    ),
    "send_newsletter": Routine(1, 210.0, _of(campaign="Campaign {n}", recipients=lambda rng: rng.randrange(900, 9000))),
    "monthly_statement": Routine(
        4,
        4.2,
        _of(customer="CUST-{n:04d}", month="2024-10"),
        (Trouble(0.01, "KeyError: 'opening_balance' of CUST-{n:04d}", is_permanent=True),),
    ),
    "reconcile_bank": Routine(
        1, 95.0, _of(account="IBAN ending {n}"), (Trouble(0.05, "JobTimeout: ran longer than 1800 s", times_out=True),)
    ),
    "geocode_address": Routine(
        8,
        0.35,
        _of(address="{n} Example Street"),
        (Trouble(0.06, "HTTP 429 from maps.example.com: too many requests"),),
    ),
}


@dataclass(frozen=True, slots=True)
class Outage:
    """A while in which every attempt of a type fails."""

    job_type: str
    hours_ago: float
    hours: float
    text: str


OUTAGES = (
    Outage("payment_capture", 0.25, 0.25, "ReadTimeout: payments.example.com did not answer within 10 s"),  # goes on
    Outage("webhook_delivery", 7.5, 2.5, "ConnectionError: hooks.example.com refused the connection for order {n}"),
    Outage("sync_inventory", 31.0, 1.5, "ConnectionError: stock.example.com cannot be resolved"),
    Outage("email_invoice", 74.0, 1.2, "SMTPServerDisconnected: mail.example.com closed the connection"),
)
