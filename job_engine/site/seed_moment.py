"""This moment of a made-up site: what runs, what waits and why, and a family of jobs one of which needs a person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from job_engine.core.priority import PRIORITIES
from job_engine.core.states import Status
from job_engine.site.seed_lives import Lives
from job_engine.site.seed_plan import ORGANIZATIONS, Trouble
from job_engine.store import stats

LEASE = timedelta(hours=1)  # so long the running ones stay as they are; then they are rescued, and really run
PAUSED_TYPE, PAUSED_FOR = "price_update", "The suppliers send new price lists tonight"


def add(lives: Lives) -> None:
    first, second, third = ORGANIZATIONS
    _queued(lives)
    orders = _running(
        lives, 0, "import_orders", first, 62.0, "Row 7,440 of 12,000", {"file": "orders-week.csv", "rows": 12_000}
    )
    _running(
        lives, 1, "send_newsletter", second, 31.0, "Sent 2,790 of 9,000", {"campaign": "Autumn", "recipients": 9000}
    )
    _running(lives, 2, "reconcile_bank", third, 84.0, "Line 538 of 640", {"account": "IBAN ending 4821"})
    for warehouse in ("Warehouse A", "Warehouse B"):
        _behind(lives, orders, "sync_inventory", {"warehouse": warehouse})
    for organization in ORGANIZATIONS:
        lives.new(
            "reconcile_bank", organization, lives.now - timedelta(hours=3), status=str(Status.PENDING),
            run_after=lives.now + timedelta(hours=5), given={"account": "IBAN ending 4821"},
        )  # fmt: skip
    _family(lives, first)


def _queued(lives: Lives) -> None:
    """They wait for a type that is paused: otherwise the site's workers would have run them by now."""
    for i, priority in enumerate(p for p, n in zip(PRIORITIES, (2, 5, 9, 6), strict=True) for _ in range(n)):
        at = lives.now - timedelta(minutes=52 - 2 * i)
        lives.new(PAUSED_TYPE, list(ORGANIZATIONS)[i % 3], at, priority=priority)


def _running(
    lives: Lives, worker: int, type_name: str, organization: str, percent: float, message: str, given: dict[str, Any]
) -> dict[str, Any]:
    started = lives.now - timedelta(minutes=4 + 3 * worker)
    job = lives.new(
        type_name, organization, started - timedelta(seconds=2), status=str(Status.RUNNING), attempts=1,
        started_at=started, lease_owner=lives.story.workers[worker].name, lease_expires_at=lives.now + LEASE,
        progress=percent, progress_message=message, modified=lives.now, given=given,
    )  # fmt: skip
    lives.count(started, job, stats.CLAIMED, 2.0)
    return job


def _behind(lives: Lives, parent: dict[str, Any], type_name: str, given: dict[str, Any]) -> dict[str, Any]:
    job = lives.new(
        type_name, parent["organization"], parent["creation"] + timedelta(seconds=1), status=str(Status.PENDING),
        depends_on=parent["name"], blockers=1, given=given,
    )  # fmt: skip
    lives.story.dependencies.append((job["name"], parent["name"]))
    return job


def _family(lives: Lives, organization: str) -> None:
    """A month's end: what was collected is done, the statement needs a person, and its e-mail waits for it."""
    at = lives.now - timedelta(minutes=95)
    collected = lives.new("invoice_pdf", organization, at, given={"invoice": "INV-01000"}, attempts=1)
    lives.complete(collected, at + timedelta(seconds=1), at + timedelta(seconds=3))
    statement = lives.new(
        "monthly_statement", organization, at + timedelta(seconds=2), depends_on=collected["name"], attempts=1,
        given={"customer": "CUST-0042", "month": "2024-10"},
    )  # fmt: skip
    lives.story.dependencies.append((statement["name"], collected["name"]))
    claimed = at + timedelta(seconds=4)
    lives.die(
        statement,
        claimed,
        claimed + timedelta(seconds=4),
        Trouble(1.0, "KeyError: 'opening_balance' of CUST-0042", True),
    )
    _behind(lives, statement, "email_invoice", {"invoice": "INV-01000", "to": "customer-42@example.com"})
