"""What the demo enqueues, as data: each job with what must become of it. The verdict compares the two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from job_engine.core.job import Job
from job_engine.core.states import Status
from job_engine.demo import effects
from job_engine.engine import Engine

ORGANIZATIONS = ("north", "south", "west")
WAVES, THUMBNAILS, WAVE_SECONDS = (
    10,
    8,
    1.2,
)  # thumbnails for each organization in each wave, so long after the last one
EMAILS = 16
INVOICES = 3
BATCHES, ROWS = 20, 20

CANCELED = "annual report of west"  # canceled while it runs
KILLED = "nightly_import of north"  # its worker is killed while it runs


@dataclass(frozen=True, slots=True)
class Planned:
    """One job, and how it must end."""

    label: str  # how people call it; unique
    job_type: str
    organization: str
    params: dict[str, Any]
    delay: float = 0.0  # seconds until it is due
    after: str | None = None  # the label of the job it depends on
    options: dict[str, Any] = field(default_factory=dict)
    # What must be true in the end
    status: Status = Status.COMPLETED
    attempts: int = 1
    lost: int = 0  # attempts that ended because their worker vanished
    rows: int = 0  # that it imports


Roll = Mapping[str, Planned]  # by the job's name


def plan() -> list[Planned]:
    """Parents stand before those that depend on them."""
    return [*_invoices(), *_payments(), *_emails(), *_reports(), *_imports(), *_thumbnails()]


def duplicates(planned: list[Planned]) -> list[Planned]:
    """Asked for a second time, and to be refused: one by its dedup_key, one because the same job still waits."""
    return [_first(planned, "invoice"), _first(planned, "thumbnail")]


def enqueue(engine: Engine, planned: list[Planned]) -> dict[str, Planned]:
    """Enqueue everything in one transaction: all of it exists from one moment on, or none. Returns what has which name."""
    names: dict[str, str] = {}
    with engine.store.transaction() as session:
        effects.take_down(session, effects.PARTNER)
        for one in planned:
            names[one.label] = ask(engine, one, names, session.connection).name
    return {names[one.label]: one for one in planned}


def ask(engine: Engine, one: Planned, names: Mapping[str, str], connection: Any = None) -> Job:
    return engine.enqueue(
        one.job_type,
        one.params,
        organization=one.organization,
        user="demo@example.com",
        run_after=one.delay,
        depends_on=names[one.after] if one.after else None,
        connection=connection,
        **one.options,
    )


def _first(planned: list[Planned], job_type: str) -> Planned:
    return next(one for one in planned if one.job_type == job_type)


def _invoices() -> Iterator[Planned]:
    numbers = iter(range(1001, 2000))
    for organization in ORGANIZATIONS:
        for _ in range(INVOICES):
            number = next(numbers)
            made = Planned(
                f"invoice {number}",
                "invoice",
                organization,
                {"number": number},
                options={"dedup_key": f"invoice:{number}"},
            )
            yield made
            yield Planned(
                f"email_invoice {number}", "email_invoice", organization, {"number": number}, after=made.label
            )


def _payments() -> Iterator[Planned]:
    for order, expired in ((501, False), (502, True), (503, False)):
        yield Planned(
            f"charge_card for order {order}",
            "charge_card",
            "south",
            {"order": order, "expired": expired},
            delay=0.5,
            status=Status.DEAD_LETTER if expired else Status.COMPLETED,
        )
    yield Planned("partner_sync of west", "partner_sync", "west", {}, status=Status.DEAD_LETTER, attempts=3)


def _emails() -> Iterator[Planned]:
    for organization in ORGANIZATIONS:
        for n in range(EMAILS):
            refusals = {3: 1, 7: 2, 11: 1}.get(n, 0)
            yield Planned(
                f"email {n + 1} of {organization}",
                "send_email",
                organization,
                {"to": f"customer-{n + 1}@{organization}.example.com", "refusals": refusals},
                delay=n * 0.5,
                attempts=1 + refusals,
            )


def _reports() -> Iterator[Planned]:
    yield Planned(
        CANCELED,
        "pdf_report",
        "west",
        {"title": "The whole year", "pages": 200},
        delay=8.0,
        options={"priority": "High"},
        status=Status.CANCELED,
    )
    yield Planned(
        "email with the annual report",
        "send_email",
        "west",
        {"to": "board@west.example.com"},
        after=CANCELED,
        status=Status.CANCELED,
        attempts=0,
    )
    for organization in ORGANIZATIONS:
        for week, pages in ((1, 12), (2, 20)):
            yield Planned(
                f"report of week {week} of {organization}",
                "pdf_report",
                organization,
                {"title": f"Week {week}", "pages": pages},
            )


def _imports() -> Iterator[Planned]:
    for n, organization in enumerate(ORGANIZATIONS):
        label = f"nightly_import of {organization}"
        killed = label == KILLED
        yield Planned(
            label,
            "nightly_import",
            organization,
            {"batches": BATCHES, "rows": ROWS},
            delay=2.0 + 4.0 * n,
            attempts=2 if killed else 1,
            lost=1 if killed else 0,
            rows=BATCHES * ROWS,
        )


def _thumbnails() -> Iterator[Planned]:
    for wave in range(WAVES):
        for organization in ORGANIZATIONS:
            for n in range(THUMBNAILS):
                image = f"{organization}-{wave * THUMBNAILS + n + 1}.jpg"
                yield Planned(
                    f"thumbnail of {image}", "thumbnail", organization, {"image": image}, delay=wave * WAVE_SECONDS
                )
