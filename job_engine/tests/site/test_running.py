"""A runner on a site: whose job it is, whose transaction, what is left behind."""

from __future__ import annotations

from contextlib import closing

import frappe
import pytest

import job_engine
from job_engine.core.states import Status
from job_engine.runner import Runner
from job_engine.site import admission, briefing, engine, job_types
from job_engine.site.engines import RunnersEngine
from job_engine.store.session import Session
from job_engine.tests.site import jobs, people
from job_engine.tests.site.running import QUEUE, Bench
from job_engine.worker_id import new_worker_id


def test_a_job_runs_as_the_user_who_enqueued_it(here: Bench) -> None:
    user = people.user("Job User", organizations=(here.organization,))
    frappe.db.commit()
    frappe.set_user(user)
    job = here.enqueue("test.effect", {"value": "x"})
    here.run()
    done = here.get(job)
    assert (done.status, done.attempts, done.result, here.effects(job)) == (Status.COMPLETED, 1, user, ["x"])
    assert frappe.session.user == "Administrator"


def test_a_rolled_back_enqueue_leaves_nothing_behind(here: Bench) -> None:
    job = here.enqueue("test.effect")
    frappe.db.rollback()
    assert here.run() == 0
    assert engine().store.get(job.name) is None
    assert here.woken == []


def test_a_thousand_enqueues_of_one_transaction_wake_once(here: Bench) -> None:
    for i in range(1000):
        here.enqueue("test.noop", {"i": i})
    assert here.woken == []
    frappe.db.commit()
    assert here.woken == [(QUEUE, False)]


def test_a_disabled_users_job_ends_in_dead_letter(here: Bench) -> None:
    user = people.user("Job User", organizations=(here.organization,))
    job = here.enqueue("test.effect", user=user)
    frappe.db.sql("UPDATE `tabUser` SET enabled = 0 WHERE name = %s", user)
    here.run()
    dead = here.get(job)
    assert (dead.status, dead.error_type, here.effects(job)) == (Status.DEAD_LETTER, "Permanent", [])
    assert "is disabled" in (dead.last_error or "")


def test_a_question_about_the_user_that_fails_with_the_claim_does_not_undo_it(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, failures = admission._look, [RuntimeError("once")]

    def look_or_fail(session: Session, user: str, organization: str | None) -> object:
        session.rows("SELECT 1")  # with which the claim is committed
        if failures:
            raise failures.pop()
        return look(session, user, organization)

    monkeypatch.setattr(admission, "_look", look_or_fail)
    job = here.enqueue("test.effect", {"value": "x"})
    assert here.run() == 1
    assert not failures
    assert (here.get(job).status, here.get(job).attempts, here.effects(job)) == (Status.COMPLETED, 1, ["x"])


def test_what_waits_is_known_from_the_start_and_looked_for_anew_after_that(here: Bench) -> None:
    first = here.enqueue("test.effect", {"value": "first"})
    frappe.db.commit()
    with closing(RunnersEngine.for_runners(alone=False, queue=QUEUE)) as runners:
        runner = Runner(runners, new_worker_id(), (QUEUE,))
        second = here.enqueue("test.effect", {"value": "second"}, organization=people.organization("Late"))
        frappe.db.commit()
        assert (runner.run_batch(10), runner.run_batch(10), runner.run_batch(10)) == (1, 1, 0)
        runner.close()
    assert [here.get(job).status for job in (first, second)] == [Status.COMPLETED] * 2


def test_a_user_who_lost_the_organization_has_no_jobs_run_for_it(here: Bench) -> None:
    user = people.user("Job User", organizations=(here.organization,))
    frappe.db.commit()
    frappe.set_user(user)
    job = here.enqueue("test.effect")
    frappe.set_user("Administrator")
    frappe.db.sql("DELETE FROM `tabUser Permission` WHERE `user` = %s", user)
    here.run()
    dead = here.get(job)
    assert (dead.status, here.effects(job)) == (Status.DEAD_LETTER, [])
    assert "no longer has the permission" in (dead.last_error or "")


def test_server_code_may_enqueue_for_a_user_who_never_had_the_permission(here: Bench) -> None:
    user = people.user()
    job = here.enqueue("test.effect", user=user)
    here.run()
    assert here.get(job).result == user


def test_jobs_of_a_deleted_organization_end_in_dead_letter(here: Bench) -> None:
    job = here.enqueue("test.effect")
    frappe.db.sql("DELETE FROM `tabOrganization` WHERE name = %s", here.organization)
    here.run()
    dead = here.get(job)
    assert (dead.status, dead.error_type) == (Status.DEAD_LETTER, "Permanent")
    assert "Organization not found" in (dead.last_error or "")


def test_jobs_of_a_suspended_organization_wait_and_say_so(here: Bench) -> None:
    job = here.enqueue("test.effect")
    frappe.db.set_value("Organization", here.organization, "suspended", 1)
    assert here.run() == 0
    assert "suspended" in engine().explain(job.name)
    frappe.db.set_value("Organization", here.organization, "suspended", 0)
    assert here.run() == 1


def test_a_pause_after_the_runners_start_holds_for_a_claim_that_comes_later(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.enqueue("test.effect")
    frappe.db.commit()
    with closing(RunnersEngine.for_runners(alone=False)) as runners:
        engine().pause("type", "test.effect")
        frappe.db.commit()
        monkeypatch.setattr(briefing, "NEW_SECONDS", 0)  # as after a while
        assert runners.store.claim_batch("a-runner", 10, (QUEUE,)) == []
        engine().resume("type", "test.effect")
        frappe.db.commit()
        assert len(runners.store.claim_batch("a-runner", 10, (QUEUE,))) == 1


def test_no_job_sees_what_another_left_in_frappe_local(here: Bench) -> None:
    before = here.enqueue("test.look")
    for i in range(2):
        here.enqueue("test.litter", {"fail": bool(i)})
    after = here.enqueue("test.look")
    here.run()
    assert here.get(before).result == here.get(after).result
    assert not any(here.get(after).result[corner] for corner in ("litter", "cache", "conf", "response", "messages"))


def test_what_a_failed_job_wanted_after_its_commit_does_not_happen(here: Bench) -> None:
    jobs.AFTER_COMMIT.clear()
    jobs.AFTER_ROLLBACK.clear()
    good, bad, other = (here.enqueue("test.litter", {"fail": fail}) for fail in (False, True, False))
    here.run()
    assert sorted(jobs.AFTER_COMMIT) == sorted([good.name, other.name])
    assert [bad.name] == jobs.AFTER_ROLLBACK
    assert (here.effects(good), here.effects(bad), here.effects(other)) == ([None], [], [None])


def test_a_failing_handlers_writes_go_alone(here: Bench) -> None:
    first, bad, last = (here.enqueue(t, {}, max_attempts=1) for t in ("test.effect", "test.fail", "test.effect"))
    here.run()
    assert [here.get(j).status for j in (first, bad, last)] == [Status.COMPLETED, Status.DEAD_LETTER, Status.COMPLETED]
    assert (len(here.effects(first)), here.effects(bad, "failed"), len(here.effects(last))) == (1, [], 1)


def test_a_handler_that_commits_takes_its_finished_neighbours_with_it(here: Bench) -> None:
    warm_up(here)
    neighbours = [here.enqueue("test.effect", {"value": str(i)}) for i in range(5)]
    one = here.enqueue("test.commits", {"then_raise": True}, max_attempts=1)
    here.run()
    assert [(here.get(j).status, here.get(j).attempts) for j in neighbours] == [(Status.COMPLETED, 1)] * 5
    assert [here.effects(j) for j in neighbours] == [[str(i)] for i in range(5)]
    assert (here.get(one).status, here.effects(one), here.effects(one, "after the commit")) == (
        Status.DEAD_LETTER,
        [None],
        [],
    )


def test_a_handler_that_rolls_back_gives_back_its_finished_neighbours(here: Bench) -> None:
    warm_up(here)
    neighbours = [here.enqueue("test.effect", {"value": str(i)}) for i in range(5)]
    one = here.enqueue("test.rolls_back")
    here.run()
    assert [(here.get(j).status, here.get(j).attempts) for j in neighbours] == [(Status.COMPLETED, 1)] * 5
    assert [here.effects(j) for j in neighbours] == [[str(i)] for i in range(5)]
    assert (here.get(one).status, here.effects(one), here.effects(one, "undone")) == (Status.COMPLETED, [None], [])


def warm_up(here: Bench) -> None:
    """A type that is known to be quick shares a transaction; the first of its kind does not."""
    here.enqueue("test.effect", {"value": "first"})


def test_a_job_enqueued_by_a_handler_exists_only_if_that_completes(here: Bench) -> None:
    good = here.enqueue("test.parent", {"queue": QUEUE})
    bad = here.enqueue("test.parent", {"queue": QUEUE, "fail": True})
    here.run()
    assert [here.get(j).status for j in (good, bad)] == [Status.COMPLETED, Status.DEAD_LETTER]
    assert here.effects() == ["child"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("ValueError", Status.FAILED),
        ("TransientError", Status.FAILED),
        ("PermanentError", Status.DEAD_LETTER),
        ("ValidationError", Status.DEAD_LETTER),
        ("PermissionError", Status.DEAD_LETTER),
    ],
)
def test_frappes_errors_are_classified(here: Bench, error: str, status: Status) -> None:
    job = here.enqueue("test.fail", {"error": error}, max_attempts=5)
    here.run(most=1)
    assert here.get(job).status == status


def test_times_are_stored_in_the_sites_time_zone(here: Bench) -> None:
    job = here.enqueue("test.noop")
    stored = frappe.db.get_value(
        "Background Job", job.name, ["creation", "run_after", "owner", "modified_by"], as_dict=True
    )
    assert abs((stored.creation - frappe.utils.now_datetime()).total_seconds()) < 5
    assert (stored.owner, stored.modified_by) == ("Administrator", "Administrator")
    assert abs((job.creation - engine().get(job.name).creation).total_seconds()) < 0.001


def test_an_administrators_override_takes_effect_without_a_restart(here: Bench) -> None:
    job_types.sync()
    document = frappe.get_doc("Job Type", "test.noop")
    document.max_attempts = 7
    document.priority = "High"
    document.save()
    job = here.enqueue("test.noop")
    assert (job.max_attempts, job.priority) == (7, "High")
    document.enabled = 0
    document.save()
    assert here.run() == 0
    assert "disabled" in engine().explain(job.name)
    document.reload()
    document.enabled, document.max_attempts, document.priority = 1, 0, ""
    document.save()
    assert here.run() == 1


def test_a_function_moves_from_frappe_enqueue_unchanged(here: Bench) -> None:
    frappe.get_doc("Job Engine Settings").update({"default_organization": here.organization}).save()
    for call in (
        lambda: job_engine.enqueue("job_engine.tests.site.jobs.plain", queue=QUEUE, value="path"),
        lambda: job_engine.enqueue(jobs.plain, QUEUE, timeout=30, value="function"),
        lambda: job_engine.enqueue(
            method=jobs.plain, queue=QUEUE, job_name="x", enqueue_after_commit=True, value="after"
        ),
    ):
        call()
    twins = [
        job_engine.enqueue(jobs.plain, queue=QUEUE, job_id="one", deduplicate=True, value=str(i)) for i in range(2)
    ]
    job_engine.enqueue(jobs.plain, now=True, value="now")
    assert [twin.created for twin in twins] == [True, False]
    here.run()
    assert sorted(here.effects(kind="plain")) == ["0", "after", "function", "now", "path"]


def test_a_renamed_organization_keeps_its_jobs_and_its_limits(here: Bench) -> None:
    job = here.enqueue("test.effect")
    engine().pause("organization", here.organization, by="an operator")
    frappe.db.commit()
    here.organization = frappe.rename_doc("Organization", here.organization, f"{here.organization} Renamed")
    assert here.run() == 0
    assert "is paused by an operator" in engine().explain(job.name)
    engine().resume("organization", here.organization)
    assert here.run() == 1
    assert here.get(job).organization == here.organization
