"""Jobs of several users share a process: none sees, does or leaves behind what is another's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import frappe
import pytest

from job_engine import JobContext
from job_engine.tests.site.jobs import effect
from job_engine.tests.site.running import Bench
from job_engine.tests.site.sharing import enqueue, expect_once, neighbours

CALLED: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_called() -> None:
    CALLED.clear()


def checkpoints(ctx: JobContext, i: int = 0) -> list[str]:
    before = frappe.session.user
    frappe.local.form_dict.mine = True
    ctx.checkpoint["i"] = i
    ctx.save_checkpoint()
    effect(ctx)
    return [before, frappe.session.user, str(frappe.local.form_dict.mine)]


def test_a_checkpoint_does_not_make_somebody_else_of_the_handler(here: Bench, person: Callable[..., str]) -> None:
    user = person("Job User", organizations=(here.organization,))
    jobs = enqueue(here, checkpoints, 3, user=user)
    here.run()
    assert [here.get(j).result for j in jobs] == [[user, user, "True"]] * 3
    expect_once(here, jobs)


def wants_something_afterwards(ctx: JobContext, i: int = 0) -> None:
    frappe.local.mine = i
    frappe.db.before_commit.add(lambda: CALLED.append(("before", frappe.session.user, frappe.local.mine)))
    frappe.db.after_commit.add(lambda: CALLED.append(("after", frappe.session.user, frappe.local.mine)))


def test_what_follows_the_commit_happens_in_the_name_of_the_jobs_own_user(
    here: Bench, person: Callable[..., str]
) -> None:
    """And with what the handler has left for it in frappe.local, where Frappe keeps webhooks until then."""
    user = person("Job User", organizations=(here.organization,))
    enqueue(here, wants_something_afterwards, 3, user=user)
    here.run()
    assert sorted(CALLED) == [(when, user, i) for when in ("after", "before") for i in range(3)]


@frappe.request_cache
def whoever_asks() -> str:
    """As apps write it: in a request there is one user."""
    return frappe.session.user


def asks_who_it_is(ctx: JobContext, i: int = 0) -> str:
    return whoever_asks()


def test_what_is_cached_for_a_request_is_not_told_to_the_next_user(here: Bench, person: Callable[..., str]) -> None:
    users = [person("Job User", organizations=(here.organization,)) for _ in range(2)]
    frappe.get_installed_apps()  # makes the cache, as every start of a runner does
    jobs = [enqueue(here, asks_who_it_is, user=user)[0] for user in users]
    here.run()
    assert [here.get(j).result for j in jobs] == users


def fails_without_a_statement(ctx: JobContext, i: int = 0) -> None:
    frappe.db.after_commit.add(lambda: CALLED.append(i))
    raise ValueError("as asked for")


def test_a_handler_that_fails_without_a_statement_leaves_no_callback(here: Bench) -> None:
    enqueue(here, fails_without_a_statement, 3)
    neighbours(here)
    here.run()
    assert CALLED == []
