"""What every store must do. Somebody who writes a store of their own runs this suite against it:

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, clock):
            store = MyStore(clock=clock, lease_seconds=StoreContract.LEASE)
            yield store
            store.close()

The fixture gives an empty store. It takes the time from `clock` (job_engine.tests.clock.FrozenClock), holds a lease for LEASE
seconds, and may be used by several threads at once; each calls `close()` when it is done. Where the store lives in another
package, say `pytest.register_assert_rewrite("job_engine.tests.contract")` in a conftest.py first, for readable failures.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from job_engine.core import canonical
from job_engine.core.errors import IllegalTransition, InvalidJob, JobNotFound, LeaseLost, UnknownParent
from job_engine.core.job import Job, Outcome
from job_engine.core.registry import Registry
from job_engine.core.states import CANCELABLE, ENDED, RETRYABLE, Status
from job_engine.engine import Engine
from job_engine.tests.case import LATER, LOSING, Case, Claim, Store
from job_engine.tests.clock import FrozenClock
from job_engine.tests.ledger import check_history, check_ledger
from job_engine.tests.parallel import at_once

ACME, GLOBEX = "ACME", "Globex"

WRITES: dict[str, Callable[[Store, Claim, datetime], Any]] = {
    "mark_success": lambda store, claim, now: store.mark_success(*claim, "late"),
    "mark_retry": lambda store, claim, now: store.mark_retry(*claim, now, "late"),
    "mark_failed": lambda store, claim, now: store.mark_failed(*claim, "late"),
    "release": lambda store, claim, now: store.release(*claim),
    "save_progress": lambda store, claim, now: store.save_progress(*claim, 50.0, "late"),
    "save_checkpoint": lambda store, claim, now: store.save_checkpoint(*claim, '{"late":1}'),
}


class StoreContract:
    LEASE = 60.0

    @pytest.fixture
    def store(self, clock: FrozenClock) -> Store:
        raise NotImplementedError("give the suite a fixture `store`: an empty store that takes its time from `clock`")

    @pytest.fixture
    def case(self, store: Store, clock: FrozenClock) -> Case:
        registry = Registry()
        for name in ("work", "other"):
            registry.job(name)(lambda **params: None)
        return Case(store, Engine(store, registry), clock)

    # Claim

    def test_a_claimed_job_is_running_and_belongs_to_its_worker_for_the_length_of_a_lease(self, case: Case) -> None:
        job = case.enqueue(organization=ACME)
        (claimed,) = case.store.claim_batch("w1", 10)
        assert claimed == case.store.get(job.name)
        assert (claimed.status, claimed.attempts, claimed.lease_owner) == (Status.RUNNING, 1, "w1")
        assert claimed.lease_expires_at == case.clock.now + timedelta(seconds=self.LEASE)
        assert claimed.started_at == case.clock.now
        assert case.store.claim_batch("w2", 10) == []

    @pytest.mark.parametrize("organizations", [(ACME,), (ACME, GLOBEX)])
    def test_a_claim_brings_every_text_as_it_was_stored(self, case: Case, organizations: tuple[str, ...]) -> None:
        text = "".join(map(chr, range(1, 0x180))) + "\\u0041 \\\\ \u2028 漢字 🙂 %s {job}"
        for organization in organizations:
            job = case.engine.enqueue("work", {"text": text, "nothing": None}, organization=organization)
            claim = (job.name, "w1", 1)
            case.store.claim_batch("w1", 1)
            case.store.save_checkpoint(*claim, canonical.encode({"text": text}))
            case.store.mark_retry(*claim, case.clock.now, text)
        case.store.promote()
        claimed = case.store.claim_batch("w1", 10)
        assert [job.params for job in claimed] == [{"text": text, "nothing": None}] * len(organizations)
        for job in claimed:
            stored = case.store.get(job.name)
            for field in (
                "params_json",
                "checkpoint_json",
                "last_error",
                "run_after",
                "creation",
                "attempts",
                "progress",
            ):
                assert getattr(job, field) == getattr(stored, field), field

    @pytest.mark.parametrize("status", sorted(set(Status) - {Status.QUEUED}))
    def test_only_queued_jobs_are_claimed(self, case: Case, status: Status) -> None:
        case.job_that_is(status)
        assert case.store.claim_batch("w9", 10) == []

    def test_a_claim_takes_no_more_than_its_limit(self, case: Case) -> None:
        for _ in range(5):
            case.enqueue()
        assert [len(case.store.claim_batch("w1", n)) for n in (2, 0, 2, 2, 2)] == [2, 0, 2, 1, 0]

    def test_the_more_urgent_job_is_claimed_first(self, case: Case) -> None:
        made = {p: case.enqueue(priority=p).name for p in ("Low", "Critical", "Normal", "High")}
        claimed = [job.name for job in case.store.claim_batch("w1", 4)]
        assert claimed == [made[p] for p in ("Critical", "High", "Normal", "Low")]

    def test_a_less_urgent_job_waits_while_the_batch_is_full_of_urgent_ones(self, case: Case) -> None:
        low = case.enqueue(priority="Low").name
        for _ in range(6):
            case.enqueue(priority="High")
        batches = [[job.name for job in case.store.claim_batch("w1", 2)] for _ in range(4)]
        assert [low in batch for batch in batches] == [False, False, False, True]

    def test_within_an_organization_the_job_that_was_due_first_is_claimed_first(self, case: Case) -> None:
        waits = [30, 10, 20]
        made = [case.enqueue(run_after=wait).name for wait in waits]
        case.clock.advance(60)
        case.store.promote()
        claimed = [job.name for job in case.store.claim_batch("w1", 3)]
        assert claimed == [made[1], made[2], made[0]]

    def test_a_flood_of_one_organization_does_not_keep_another_waiting(self, case: Case) -> None:
        for _ in range(30):
            case.enqueue(organization=ACME)
        late = case.enqueue(organization=GLOBEX).name
        assert late in [job.name for job in case.store.claim_batch("w1", 4)]

    def test_organizations_take_turns_also_when_one_job_is_claimed_at_a_time(self, case: Case) -> None:
        organizations = [ACME, GLOBEX, "Initech"]
        for organization in organizations * 4:
            case.enqueue(organization=organization)
        served = [case.store.claim_batch("w1", 1)[0].organization for _ in range(12)]
        for start in range(0, 12, 3):
            assert sorted(filter(None, served[start : start + 3])) == sorted(organizations), served

    def test_organizations_take_turns_also_when_there_are_fewer_places_than_organizations(self, case: Case) -> None:
        for organization in [ACME, GLOBEX, "Initech"] * 6:
            case.enqueue(organization=organization)
        served: list[str | None] = []
        for _ in range(6):
            served += [job.organization for job in case.store.claim_batch("w1", 2)]
            counts = [served.count(organization) for organization in (ACME, GLOBEX, "Initech")]
            assert max(counts) - min(counts) <= 1, served

    def test_every_organization_is_served_however_many_there_are(self, case: Case) -> None:
        organizations = {f"organization {i:03}" for i in range(230)}
        for organization in organizations:
            case.enqueue(organization=organization)
        served: list[str | None] = []
        while batch := case.store.claim_batch("w1", 50):
            served += [job.organization for job in batch]
        assert sorted(filter(None, served)) == sorted(organizations)

    def test_an_organization_may_have_any_name(self, case: Case) -> None:
        names = [
            "a|b",
            "|",
            "}",
            "~",
            "été 株式会社",
            "0|default|x",
            "'; --",
            "%s {job}",
            "\U0001f600",
            "tab\there",
            "!",
        ]
        for name in names:
            case.enqueue(organization=name)
        claimed = case.store.claim_batch("w1", 100)
        assert sorted(job.organization or "" for job in claimed) == sorted(names)

    def test_a_worker_takes_only_from_its_queues(self, case: Case) -> None:
        default, mail = case.enqueue().name, case.enqueue(queue="mail").name
        case.enqueue(queue="mail.bulk")
        case.enqueue(queue="mai")
        assert [job.name for job in case.store.claim_batch("w1", 10, ("mail",))] == [mail]
        assert [job.name for job in case.store.claim_batch("w1", 10, ("default", "none"))] == [default]
        assert case.store.claim_batch("w1", 10, ()) == []
        assert len(case.store.claim_batch("w1", 10, None)) == 2

    def test_a_job_whose_worker_vanished_is_claimed_alone(self, case: Case) -> None:
        """It may have killed its worker: its neighbours must not pay for that with their attempts."""
        suspect = case.claimed()[0]
        case.clock.advance(LATER)
        case.store.rescue()
        priorities, organizations = ("Critical", "Normal", "Low"), (None, ACME)
        neighbours = {case.enqueue(priority=p, organization=o).name for p in priorities for o in organizations}
        batches = []
        while batch := {job.name for job in case.store.claim_batch("w2", 10)}:
            batches.append(batch)
        assert {suspect} in batches, batches
        assert set().union(*batches) == {suspect, *neighbours}

    def test_only_one_of_many_workers_claims_a_job(self, case: Case) -> None:
        names = {case.enqueue(organization=f"o{i % 3}").name for i in range(60)}

        def claim_all(worker: str) -> list[str]:
            mine: list[str] = []
            idle = 0
            while idle < 3:
                batch = case.store.claim_batch(worker, 4)
                mine += [job.name for job in batch]
                idle = 0 if batch else idle + 1
            return mine

        claimed = at_once([lambda w=f"w{i}": claim_all(w) for i in range(6)], after=case.store.close)
        assert sorted(name for mine in claimed for name in mine) == sorted(names)

    # The fence

    @pytest.mark.parametrize("write", sorted(WRITES))
    @pytest.mark.parametrize("losing", LOSING, ids=lambda f: f.__name__.strip("_"))
    def test_a_write_without_the_lease_raises_lease_lost_and_changes_nothing(
        self, case: Case, losing: Callable[[Case], Claim], write: str
    ) -> None:
        claim = losing(case)
        before = case.store.get(claim[0])
        assert before is not None
        history = case.store.history(before)
        with pytest.raises(LeaseLost) as caught:
            WRITES[write](case.store, claim, case.clock.now)
        assert (caught.value.name, caught.value.attempt) == (claim[0], claim[2])
        assert case.store.get(claim[0]) == before
        assert case.store.history(before) == history
        check_ledger(case.engine)

    @pytest.mark.parametrize("losing", LOSING, ids=lambda f: f.__name__.strip("_"))
    def test_a_heartbeat_keeps_only_what_the_worker_still_holds(
        self, case: Case, losing: Callable[[Case], Claim]
    ) -> None:
        name, worker, attempt = losing(case)
        before = case.store.get(name)
        held = {(h.name, h.attempt) for h in case.store.heartbeat(worker, [name])}
        assert (name, attempt) not in held
        assert held or case.store.get(name) == before  # held: a later attempt of the same worker

    @pytest.mark.parametrize("write", ["mark_success", "mark_retry", "mark_failed", "release"])
    def test_a_job_that_does_not_exist_cannot_be_ended(self, case: Case, write: str) -> None:
        with pytest.raises((JobNotFound, LeaseLost)):
            WRITES[write](case.store, ("nobody", "w1", 1), case.clock.now)

    @pytest.mark.parametrize("write", ["mark_success", "mark_retry", "mark_failed", "release"])
    def test_of_many_that_end_one_attempt_one_succeeds(self, case: Case, write: str) -> None:
        claim = case.claimed()

        def end() -> bool:
            try:
                WRITES[write](case.store, claim, case.clock.now)
                return True
            except LeaseLost:
                return False

        assert sum(at_once([end] * 5, after=case.store.close)) == 1
        check_ledger(case.engine)

    def test_of_two_ends_of_one_attempt_in_one_call_one_is_written_and_the_other_is_told_as_lost(
        self, case: Case
    ) -> None:
        name, worker, attempt = case.claimed()
        ends = [
            Outcome(name, attempt, Status.QUEUED, 0.0, "work", give_back=True, reason="given back"),
            Outcome(name, attempt, Status.COMPLETED, 1.0, "work"),
        ]
        assert case.store.finish(worker, ends) == {name}
        assert case.status(name) is Status.QUEUED
        check_ledger(case.engine)

    # End attempts

    def test_success_keeps_the_result(self, case: Case) -> None:
        claim = case.claimed()
        case.clock.advance(3)
        case.store.mark_success(*claim, {"file": "a.pdf"})
        job = case.engine.get(claim[0])
        assert (job.status, job.result, job.progress) == (Status.COMPLETED, {"file": "a.pdf"}, 100)
        assert (job.ended_at, job.lease_owner, job.lease_expires_at) == (case.clock.now, None, None)

    def test_a_retry_waits_for_its_time_and_counts(self, case: Case) -> None:
        claim = case.claimed()
        due = case.clock.now + timedelta(seconds=90)
        case.store.mark_retry(*claim, due, "ConnectionError: refused")
        job = case.engine.get(claim[0])
        assert (job.status, job.attempts, job.run_after) == (Status.FAILED, 1, due)
        assert (job.last_error, job.lease_owner, job.ended_at) == ("ConnectionError: refused", None, None)
        case.clock.advance(89)
        assert (case.store.promote(), case.store.claim_batch("w2", 1)) == (0, [])
        case.clock.advance(1)
        assert case.store.promote() == 1
        assert case.store.claim_batch("w2", 1)[0].attempts == 2

    def test_the_time_of_a_retry_is_an_instant_whatever_its_time_zone(self, case: Case) -> None:
        claim = case.claimed()
        due = (case.clock.now + timedelta(minutes=5)).astimezone(timezone(timedelta(hours=5, minutes=30)))
        case.store.mark_retry(*claim, due, "later")
        assert case.engine.get(claim[0]).run_after == due

    def test_a_failure_for_good_needs_a_person(self, case: Case) -> None:
        claim = case.claimed()
        case.store.mark_failed(*claim, "ValueError: no such invoice")
        job = case.engine.get(claim[0])
        assert (job.status, job.last_error, job.ended_at) == (
            Status.DEAD_LETTER,
            "ValueError: no such invoice",
            case.clock.now,
        )
        case.clock.advance(365 * 86_400)
        assert (case.store.promote(), case.store.rescue(), case.store.claim_batch("w2", 9)) == (0, 0, [])

    def test_a_released_claim_is_not_charged_and_can_be_claimed_at_once(self, case: Case) -> None:
        claim = case.claimed(max_attempts=1)
        case.store.release(*claim)
        job = case.engine.get(claim[0])
        assert (job.status, job.attempts, job.lease_owner, job.started_at) == (Status.QUEUED, 0, None, None)
        assert [job.attempts for job in case.store.claim_batch("w2", 1)] == [1]

    def test_a_job_is_never_claimed_more_often_than_it_may_be(self, case: Case) -> None:
        claim = case.claimed(max_attempts=1)
        try:
            case.store.mark_retry(*claim, case.clock.now, "once more")
        except IllegalTransition:
            pass  # a store may also refuse
        case.store.promote()
        assert case.store.claim_batch("w2", 1) == []
        check_ledger(case.engine)

    # Leases

    def test_a_heartbeat_extends_the_lease(self, case: Case) -> None:
        name, worker, attempt = case.claimed()
        case.clock.advance(self.LEASE - 1)
        (held,) = case.store.heartbeat(worker, [name, "nobody"])
        assert (held.name, held.attempt, held.cancel_requested) == (name, attempt, False)
        case.clock.advance(self.LEASE - 1)
        assert case.store.rescue() == 0
        case.clock.advance(2)
        assert case.store.rescue() == 1
        assert case.store.heartbeat(worker, []) == []

    def test_a_heartbeat_tells_that_somebody_wants_the_job_canceled(self, case: Case) -> None:
        name, worker, _ = case.claimed()
        assert case.store.cancel(name, "operator@example.com") is Status.RUNNING
        assert [h.cancel_requested for h in case.store.heartbeat(worker, [name])] == [True]

    def test_a_job_whose_lease_has_expired_is_queued_again(self, case: Case) -> None:
        name, _, _ = case.claimed()
        case.clock.advance(self.LEASE)
        assert case.store.rescue() == 0
        case.clock.advance(1)
        assert (case.store.rescue(), case.store.rescue()) == (1, 0)
        job = case.engine.get(name)
        assert (job.status, job.attempts, job.lost, job.lease_owner) == (Status.QUEUED, 1, 1, None)
        assert case.store.history(job)[-1].reason == "worker lost"

    def test_a_worker_lost_in_the_last_attempt_leaves_the_job_in_dead_letter(self, case: Case) -> None:
        name, _, _ = case.claimed(max_attempts=2)
        for expected in (Status.QUEUED, Status.DEAD_LETTER):
            case.clock.advance(LATER)
            assert case.store.rescue() == 1
            assert case.status(name) is expected
            case.store.claim_batch("w2", 1)
        job = case.engine.get(name)
        assert (job.attempts, job.reason, job.ended_at) == (2, "worker lost", case.clock.now)

    def test_a_lost_job_that_somebody_wanted_canceled_is_canceled(self, case: Case) -> None:
        name, _, _ = case.claimed()
        case.store.cancel(name)
        case.clock.advance(LATER)
        assert case.store.rescue() == 1
        assert case.status(name) is Status.CANCELED

    def test_many_rescuers_at_once_charge_a_job_once(self, case: Case) -> None:
        names = [case.claimed()[0] for _ in range(20)]
        case.clock.advance(LATER)
        assert sum(at_once([case.store.rescue] * 4, after=case.store.close)) == 20
        assert {(case.engine.get(n).lost, case.engine.get(n).attempts) for n in names} == {(1, 1)}
        check_ledger(case.engine)

    def test_a_rescue_and_a_heartbeat_at_once_agree_on_who_has_the_job(self, case: Case) -> None:
        for _ in range(5):
            name, worker, attempt = case.claimed()
            case.clock.advance(LATER)
            rescued, held = at_once(
                [case.store.rescue, lambda n=name, w=worker: case.store.heartbeat(w, [n])], after=case.store.close
            )
            assert (case.status(name) is Status.RUNNING) == (rescued == 0)
            if rescued == 0:
                assert [h.name for h in held] == [name]
                case.store.mark_success(name, worker, attempt)
            else:
                case.store.cancel(name)

    # Guards

    @pytest.mark.parametrize("status", sorted(Status))
    def test_cancel_is_guarded_by_the_table_of_transitions(self, case: Case, status: Status) -> None:
        name = case.job_that_is(status)
        if status in CANCELABLE:
            expected = Status.RUNNING if status is Status.RUNNING else Status.CANCELED
            assert case.store.cancel(name, "operator@example.com", "not needed") is expected
            job = case.engine.get(name)
            assert (job.status, job.canceled_by, job.reason) == (expected, "operator@example.com", "not needed")
        else:
            self._refuses(case, name, lambda: case.store.cancel(name))
        check_ledger(case.engine)

    @pytest.mark.parametrize("status", sorted(Status))
    def test_retry_is_guarded_by_the_table_of_transitions(self, case: Case, status: Status) -> None:
        name = case.job_that_is(status)
        if status in RETRYABLE:
            assert case.store.retry(name, "operator@example.com") is Status.QUEUED
            job = case.engine.get(name)
            assert (job.status, job.attempts, job.ended_at) == (Status.QUEUED, 0, None)
            assert case.store.history(job)[-1].actor == "operator@example.com"
        else:
            self._refuses(case, name, lambda: case.store.retry(name))
        check_ledger(case.engine)

    @pytest.mark.parametrize("status", sorted(Status))
    def test_the_tick_moves_only_what_waits_for_its_time_or_lost_its_worker(self, case: Case, status: Status) -> None:
        name = case.job_that_is(status)
        case.clock.advance(7200)
        moved = case.store.promote() + case.store.rescue()
        moves = status in (Status.PENDING, Status.FAILED, Status.TIMED_OUT, Status.RUNNING)
        assert (moved, case.status(name)) == (int(moves), Status.QUEUED if moves else status)

    @pytest.mark.parametrize("status", sorted(Status))
    def test_only_what_has_ended_is_pruned(self, case: Case, status: Status) -> None:
        name = case.job_that_is(status)
        case.clock.advance(86_400)
        pruned = sum(case.store.prune(s, case.clock.now) for s in ENDED)
        assert (pruned, case.store.get(name) is None) == (int(status in ENDED), status in ENDED)
        check_ledger(case.engine)

    def _refuses(self, case: Case, name: str, act: Callable[[], Any]) -> None:
        before = case.store.get(name)
        with pytest.raises(IllegalTransition) as caught:
            act()
        assert caught.value.name == name
        assert case.store.get(name) == before

    # Enqueue

    def test_an_enqueued_job_is_stored_as_it_was_returned(self, case: Case) -> None:
        parent = case.enqueue(organization=ACME, user="u@example.com")
        job = case.enqueue(
            organization=ACME,
            user="u@example.com",
            depends_on=parent,
            run_after=12.345678,
            priority="Low",
            queue="q",
            timeout=7,
            max_attempts=3,
            dedup_key="k",
        )
        assert case.store.get(job.name) == job
        assert case.store.get(parent.name) == parent

    def test_a_dedup_key_returns_the_job_that_has_it_whatever_its_state(self, case: Case) -> None:
        first = case.enqueue(dedup_key="k")
        for step in (
            lambda: case.store.claim_batch("w1", 100),
            lambda: case.store.mark_failed(first.name, "w1", 1, "broken"),
            lambda: case.store.retry(first.name),
            lambda: case.store.cancel(first.name),
            lambda: case.clock.advance(10 * 365 * 86_400),
        ):
            step()
            answer = case.engine.enqueue("other", {"entirely": "else"}, dedup_key="k")
            assert (answer.name, answer.created) == (first.name, False)

    def test_dedup_keys_that_differ_in_any_character_are_different(self, case: Case) -> None:
        keys = ["k", "K", "k ", " k", "ķ", "k\t", "k|", "\uff4b"]
        answers = [case.engine.enqueue("work", {"key": i}, dedup_key=k) for i, k in enumerate(keys)]
        assert [answer.created for answer in answers] == [True] * len(keys)
        assert len({answer.name for answer in answers}) == len(keys)

    def test_a_dedup_key_belongs_to_its_organization(self, case: Case) -> None:
        made = {case.enqueue(dedup_key="k", organization=o).name for o in (ACME, GLOBEX, None, "acme")}
        assert len(made) == 4

    def test_an_active_twin_within_the_window_stands_for_the_new_job(self, case: Case) -> None:
        def again(**options: Any) -> tuple[str, bool]:
            answer = case.engine.enqueue("work", {"a": 1, "b": [2]}, dedup_window=300, **options)
            return answer.name, answer.created

        first, created = again()
        assert created
        case.clock.advance(299)
        assert again() == (first, False)
        assert again(organization=ACME)[1]
        assert case.engine.enqueue("other", {"a": 1, "b": [2]}).created
        case.clock.advance(1)
        second, created = again()
        assert created and second != first
        assert again() == (second, False)

    @pytest.mark.parametrize("status", sorted(Status))
    def test_a_twin_stands_for_the_new_job_only_while_it_is_active(self, case: Case, status: Status) -> None:
        twin = case.engine.get(case.job_that_is(status))
        answer = case.engine.enqueue("work", {"n": 1})
        assert (answer.created, answer.name == twin.name) == (status in ENDED, status not in ENDED)

    def test_a_window_of_zero_makes_a_new_job_each_time(self, case: Case) -> None:
        names = {case.engine.enqueue("work", {}, dedup_window=0).name for _ in range(3)}
        assert len(names) == 3

    def test_an_explicit_key_decides_alone(self, case: Case) -> None:
        made = [case.engine.enqueue("work", {"same": 1}, dedup_key=key) for key in ("a", "b", None, "b")]
        assert [answer.created for answer in made] == [True, True, True, False]
        assert made[3].name == made[1].name

    def test_many_enqueues_at_once_with_one_key_make_one_job(self, case: Case) -> None:
        for round_ in range(20):
            answers = at_once(
                [
                    lambda i=i, r=round_: case.engine.enqueue("work", {"i": i, "r": r}, dedup_key=f"k{r}")
                    for i in range(8)
                ],
                after=case.store.close,
            )
            assert sum(answer.created for answer in answers) == 1
            assert len({answer.name for answer in answers}) == 1
            assert case.engine.count() == round_ + 1

    def test_many_enqueues_at_once_of_one_piece_of_work_make_one_job(self, case: Case) -> None:
        for round_ in range(10):
            answers = at_once([lambda r=round_: case.engine.enqueue("work", {"r": r})] * 8, after=case.store.close)
            assert sum(answer.created for answer in answers) == 1
            assert len({answer.name for answer in answers}) == 1
            assert case.engine.count() == round_ + 1

    def test_a_twin_whose_window_has_passed_makes_way_once_under_many_enqueues(self, case: Case) -> None:
        for round_ in range(10):
            case.clock.advance(301)
            answers = at_once([lambda: case.engine.enqueue("work", {})] * 6, after=case.store.close)
            assert sum(answer.created for answer in answers) == 1
            assert case.engine.count() == round_ + 1

    def test_bulk_enqueues_of_the_same_work_in_opposite_order_get_along(self, case: Case) -> None:
        for round_ in range(5):
            params = [{"r": round_, "i": i} for i in range(40)]
            answers = at_once(
                [
                    lambda p=params: case.engine.enqueue_many("work", p),
                    lambda p=params: case.engine.enqueue_many("work", p[::-1]),
                ],
                after=case.store.close,
            )
            assert sum(a.created for some in answers for a in some) == len(params)

    def test_duplicates_within_one_bulk_enqueue_are_seen(self, case: Case) -> None:
        answers = case.engine.enqueue_many("work", [{"a": 1}, {"a": 2}, {"a": 1}])
        assert [answer.created for answer in answers] == [True, True, False]
        assert answers[0].name == answers[2].name

    # Dependencies

    def test_a_job_waits_for_its_parent(self, case: Case) -> None:
        parent, worker, attempt = case.claimed()
        child = case.enqueue(depends_on=parent)
        assert (child.status, child.blockers, child.depends_on) == (Status.PENDING, 1, parent)
        assert (case.store.promote(), case.store.claim_batch("w2", 9)) == (0, [])
        case.store.mark_success(parent, worker, attempt)
        assert [job.name for job in case.store.claim_batch("w2", 9)] == [child.name]

    def test_a_job_waits_for_all_of_its_parents(self, case: Case) -> None:
        parents = [case.enqueue() for _ in range(3)]
        child = case.enqueue(depends_on=[*parents, parents[0].name])
        assert child.blockers == 3
        case.store.claim_batch("w1", 9)
        for parent, left in zip(parents, (2, 1, 0), strict=True):
            assert case.status(child.name) is Status.PENDING
            case.store.mark_success(parent.name, "w1", 1)
            assert case.engine.get(child.name).blockers == left
        assert case.status(child.name) is Status.QUEUED
        check_ledger(case.engine)

    def test_a_parent_that_has_completed_blocks_nobody(self, case: Case) -> None:
        assert case.enqueue(depends_on=case.job_that_is(Status.COMPLETED)).status is Status.QUEUED

    def test_an_unblocked_job_still_waits_for_its_time(self, case: Case) -> None:
        parent, worker, attempt = case.claimed()
        child = case.enqueue(depends_on=parent, run_after=600)
        case.store.mark_success(parent, worker, attempt)
        assert (case.status(child.name), case.engine.get(child.name).blockers) == (Status.PENDING, 0)
        case.clock.advance(600)
        assert case.store.promote() == 1

    @pytest.mark.parametrize(
        ("depends_on", "organization"), [("nobody", None), ("acme's", None), ("acme's", GLOBEX), ("ours", ACME)]
    )
    def test_a_parent_must_exist_in_the_same_organization(
        self, case: Case, depends_on: str, organization: str | None
    ) -> None:
        names = {"nobody": "nobody", "acme's": case.enqueue(organization=ACME).name, "ours": case.enqueue().name}
        before = case.engine.count()
        with pytest.raises(UnknownParent) as caught:
            case.enqueue(organization=organization, depends_on=names[depends_on])
        assert caught.value.parent == names[depends_on]
        assert case.engine.count() == before

    def test_a_canceled_parent_is_refused(self, case: Case) -> None:
        parent = case.job_that_is(Status.CANCELED)
        with pytest.raises(InvalidJob, match="Canceled"):
            case.enqueue(depends_on=[case.enqueue().name, parent])
        assert case.engine.count() == 2

    def test_an_enqueue_repeated_with_its_key_returns_the_job_whatever_became_of_its_parent(self, case: Case) -> None:
        for end in (lambda p: case.store.cancel(p), self._complete_and_forget(case)):
            parent = case.enqueue().name
            first = case.enqueue(depends_on=parent, dedup_key=parent)
            end(parent)
            again = case.engine.enqueue("work", {"else": parent}, depends_on=parent, dedup_key=parent)
            assert (again.name, again.created) == (first.name, False)

    @staticmethod
    def _complete_and_forget(case: Case) -> Callable[[str], None]:
        def act(name: str) -> None:
            while name not in [job.name for job in case.store.claim_batch("w1", 1)]:
                pass
            case.store.mark_success(name, "w1", 1)
            case.clock.advance(86_400)
            assert case.store.prune(Status.COMPLETED, case.clock.now) == 1

        return act

    def test_dependents_of_a_dead_letter_wait_until_it_is_retried_and_completes(self, case: Case) -> None:
        parent, worker, attempt = case.claimed()
        early = case.enqueue(depends_on=parent).name
        case.store.mark_failed(parent, worker, attempt, "broken")
        late = case.enqueue(depends_on=parent).name
        case.clock.advance(86_400)
        case.store.promote()
        assert (case.status(early), case.status(late)) == (Status.PENDING, Status.PENDING)
        case.store.retry(parent)
        case.store.claim_batch("w2", 9)
        case.store.mark_success(parent, "w2", 1)
        assert (case.status(early), case.status(late)) == (Status.QUEUED, Status.QUEUED)

    def test_cancel_reaches_dependents_of_dependents_and_says_why(self, case: Case) -> None:
        parent = case.enqueue().name
        child = case.enqueue(depends_on=parent).name
        grandchild = case.enqueue(depends_on=[child, case.enqueue().name]).name
        bystander = case.enqueue().name
        case.store.cancel(parent, "operator@example.com")
        assert [case.status(n) for n in (parent, child, grandchild)] == [Status.CANCELED] * 3
        assert case.status(bystander) is Status.QUEUED
        assert parent in (case.engine.get(child).reason or "")
        assert child in (case.engine.get(grandchild).reason or "")
        check_ledger(case.engine)

    def test_a_retried_dependent_waits_for_its_canceled_parent_to_be_retried_too(self, case: Case) -> None:
        parent = case.enqueue().name
        child = case.enqueue(depends_on=parent).name
        case.store.cancel(parent)
        assert case.store.retry(child) is Status.PENDING
        assert case.engine.get(child).blockers == 1
        assert case.store.retry(parent) is Status.QUEUED
        case.store.claim_batch("w1", 9)
        case.store.mark_success(parent, "w1", 1)
        assert case.status(child) is Status.QUEUED

    def test_parents_that_complete_at_the_same_moment_unblock_their_dependent(self, case: Case) -> None:
        for _ in range(15):
            parents = [case.enqueue() for _ in range(3)]
            child = case.enqueue(depends_on=parents)
            claimed = case.store.claim_batch("w1", 9)
            assert len(claimed) == 3
            at_once([lambda p=p: case.store.mark_success(p.name, "w1", 1) for p in parents], after=case.store.close)
            assert case.status(child.name) is Status.QUEUED
            assert [job.name for job in case.store.claim_batch("w1", 9)] == [child.name]
            case.store.mark_success(child.name, "w1", 1)

    def test_a_child_enqueued_while_its_parent_completes_is_not_forgotten(self, case: Case) -> None:
        for _ in range(25):
            parent, worker, attempt = case.claimed()
            child, _ = at_once(
                [
                    lambda p=parent: case.enqueue(depends_on=p),
                    lambda p=parent, w=worker, a=attempt: case.store.mark_success(p, w, a),
                ],
                after=case.store.close,
            )
            assert case.status(child.name) is Status.QUEUED
            case.store.cancel(child.name)

    def test_a_child_enqueued_while_its_parent_is_canceled_is_refused_or_canceled(self, case: Case) -> None:
        def enqueue(parent: str) -> Job | None:
            try:
                return case.enqueue(depends_on=parent)
            except InvalidJob:
                return None

        for _ in range(15):
            parent = case.enqueue().name
            child, _ = at_once(
                [lambda p=parent: enqueue(p), lambda p=parent: case.store.cancel(p)], after=case.store.close
            )
            assert child is None or case.status(child.name) is Status.CANCELED

    # Forget

    def test_a_job_that_others_wait_for_is_kept(self, case: Case) -> None:
        parent, worker, attempt = case.claimed()
        child = case.enqueue(depends_on=parent, run_after=10 * 86_400).name
        case.store.mark_failed(parent, worker, attempt, "broken")
        case.clock.advance(5 * 86_400)
        assert case.store.prune(Status.DEAD_LETTER, case.clock.now) == 0
        case.store.cancel(child)
        assert (
            case.store.prune(Status.DEAD_LETTER, case.clock.now) == 0
        )  # the child may be retried, and would wait again
        case.clock.advance(1)
        assert case.store.prune(Status.CANCELED, case.clock.now) == 1
        assert case.store.prune(Status.DEAD_LETTER, case.clock.now) == 1
        check_ledger(case.engine)

    def test_only_what_ended_long_enough_ago_is_pruned_with_its_history(self, case: Case) -> None:
        old = case.job_that_is(Status.COMPLETED)
        case.clock.advance(86_400)
        edge = case.clock.now
        new = case.job_that_is(Status.COMPLETED)
        old_job = case.engine.get(old)
        assert case.store.prune(Status.COMPLETED, edge) == 1
        assert case.store.get(old) is None
        assert len(case.store.history(old_job)) == 1  # its creation is the row, which the caller still has
        check_history(case.engine, case.engine.get(new))
        check_ledger(case.engine)
