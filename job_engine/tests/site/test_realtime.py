"""Realtime with a real client, a real Socket.IO server and real workers: who hears what, how soon, and who never does."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import frappe
import pytest
import redis
from frappe.utils.password import set_encrypted_password

from job_engine.core.job import Outcome
from job_engine.core.states import Status
from job_engine.site import engine, redis_queue, rooms
from job_engine.site.engines import RunnersEngine
from job_engine.site.realtime import Publisher
from job_engine.site.wire import CHANNEL
from job_engine.tests.site import people
from job_engine.tests.site.bench_workers import BenchWorkers
from job_engine.tests.site.socket_client import SocketClient

# With a real server -----------------------------------------------------------------------------------------------------


@pytest.fixture
def connect(bench: Path, connected: str) -> Iterator[Callable[..., SocketClient]]:
    clients: list[SocketClient] = []

    def make(user: str, documents: Sequence[tuple[str, str]]) -> SocketClient:
        headers = {"cookie": "sid=Guest"} if user == "Guest" else _credentials(user)
        clients.append(SocketClient(bench, connected, headers, documents))
        clients[-1].wait_for("connect")
        return clients[-1]

    if shutil.which("node") is None:
        pytest.skip("node is not installed: no client of the Socket.IO server")
    yield make
    for client in clients:
        client.close()


def _credentials(user: str) -> dict[str, str]:
    key, secret = secrets.token_hex(8), secrets.token_hex(8)
    frappe.db.set_value("User", user, "api_key", key)
    set_encrypted_password("User", user, secret, "api_secret")
    frappe.db.commit()
    return {"cookie": "full_name=Test", "authorization": f"token {key}:{secret}"}


def rooms_of(job: str, organization: str) -> list[tuple[str, str]]:
    return [
        ("Background Job", job),
        ("Organization", organization),
        ("Job Engine Settings", "Job Engine Settings"),
    ]


def test_a_permitted_user_hears_of_progress_and_of_the_end_within_a_second(
    workers: BenchWorkers, person: Any, connect: Any
):
    user = person("Job User", organizations=(workers.organization,))
    job = workers.enqueue("test.sleep", {"seconds": 2.0, "steps": 8})
    client = connect(user, [("Background Job", job.name)])
    client.wait_until_in(rooms.of_job(job.name))

    workers.start()
    done = workers.wait_for(job)

    ended = client.wait_for("job_status_changed", seconds=5, name=job.name, status="Completed")
    assert ended["message"] == {
        "name": job.name,
        "job_type": "test.sleep",
        "organization": workers.organization,
        "status": "Completed",
        "attempts": 1,
        "max_attempts": 5,
        "run_after": None,
        "progress": 100.0,
        "at": ended["message"]["at"],
    }
    assert ended["heard_at"] - done.ended_at.timestamp() < 1.0
    client.wait_for("job_status_changed", name=job.name, status="Running")
    progress = [one for one in client.heard if one["event"] == "job_progress"]
    assert 3 <= len(progress) <= 9, "eight steps in two seconds, at most four messages a second"
    for one in progress:
        assert one["heard_at"] - datetime.fromisoformat(one["message"]["at"]).timestamp() < 1.0
    steps = [one["message"]["progress_message"] for one in progress]
    assert all(text.startswith("Step ") and text.endswith(" of 8") for text in steps)
    assert {frozenset(one["message"]) for one in progress} == {
        frozenset(ended["message"]) | {"attempt", "progress_message"}
    }


def test_the_organization_and_the_administrators_hear_of_it_too(workers: BenchWorkers, person: Any, connect: Any):
    manager = connect(
        person("Job Manager", organizations=(workers.organization,)), [("Organization", workers.organization)]
    )
    administrator = connect("Administrator", [("Job Engine Settings", "Job Engine Settings")])
    manager.wait_until_in(f"doc:Organization/{workers.organization}")
    administrator.wait_until_in(rooms.ADMINISTRATORS)

    job = workers.enqueue("test.sleep", {"seconds": 1.0, "steps": 4})
    workers.start()
    workers.wait_for(job)

    for client in (manager, administrator):
        client.wait_for("job_status_changed", name=job.name, status="Queued")
        client.wait_for("job_progress", name=job.name)
        client.wait_for("job_status_changed", name=job.name, status="Completed")


def test_nobody_else_hears_anything(workers: BenchWorkers, person: Any, connect: Any, made_users: list[str]):
    others = people.organization("Others")
    frappe.db.commit()
    job = workers.enqueue("test.sleep", {"seconds": 2.0, "steps": 8})
    wanted = rooms_of(job.name, workers.organization)
    permitted = person("Job User", organizations=(workers.organization,))
    lost = person("Job Manager", organizations=(workers.organization,))
    frappe.db.delete("User Permission", {"user": lost})
    frappe.db.commit()
    strangers = {
        "of another organization": person("Job Manager", organizations=(others,)),
        "who lost the permission": lost,
        "without a role": person(organizations=(workers.organization,)),
        "who is a guest": "Guest",
    }
    clients = {who: connect(user, wanted) for who, user in strangers.items()}
    witness = connect(permitted, wanted[:2])
    witness.wait_until_in(rooms.of_job(job.name))
    witness.wait_until_in(f"doc:Organization/{workers.organization}")

    workers.start()
    workers.wait_for(job)

    witness.wait_for("job_status_changed", name=job.name, status="Completed")
    witness.wait_for("job_progress", name=job.name)
    for who, client in clients.items():
        client.wait_until_in(f"user:{strangers[who]}")  # it is connected, and hears what is meant for it
        assert client.about_jobs == [], who
    assert all(one.get("job_type") == "test.sleep" for one in witness.about_jobs)
    frappe.db.delete("Organization", {"name": others})
    frappe.db.commit()


def test_a_manager_is_not_let_into_the_administrators_room(workers: BenchWorkers, person: Any, connect: Any):
    user = person("Job Manager", organizations=(workers.organization,))
    client = connect(user, [("Job Engine Settings", "Job Engine Settings"), ("Organization", workers.organization)])
    client.wait_until_in(f"doc:Organization/{workers.organization}")

    publisher = Publisher(engine().store)
    publisher.ended([outcome("x", organization=None)])  # heard by administrators only

    client.wait_until_in(f"user:{user}")
    assert client.about_jobs == []


# What is published ------------------------------------------------------------------------------------------------------


class Ear:
    """Hears all that goes to the Socket.IO server."""

    def __init__(self) -> None:
        self._listener = redis_queue.connection().pubsub(ignore_subscribe_messages=True)
        self._listener.subscribe(CHANNEL)
        self._listener.get_message(timeout=5)  # that it has subscribed

    def hear(self, room: str | None = None) -> list[dict[str, Any]]:
        """What was said of jobs, up to now: a word of our own marks where that is."""
        until = frappe.generate_hash(length=12)
        redis_queue.connection().publish(
            CHANNEL, json.dumps({"event": until, "room": "job-engine-test", "message": {}})
        )
        heard: list[dict[str, Any]] = []
        while True:
            found = self._listener.get_message(timeout=5)
            if found is None:
                continue
            message = json.loads(found["data"])
            if message["event"] == until:
                break
            if message["event"].startswith("job_"):
                heard.append(message)
        return [one for one in heard if one["room"] == room] if room else heard

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def ear() -> Iterator[Ear]:
    ear = Ear()
    yield ear
    ear.close()


def outcome(
    name: str, status: Status = Status.COMPLETED, organization: str | None = "Acme", job_type: str = "test.noop", **rest
) -> Outcome:
    return Outcome(name, 1, status, rest.pop("duration", 0.001), job_type, organization, max_attempts=5, **rest)


def flood(n: int, organization: str) -> list[Outcome]:
    return [outcome(f"flood-{i}", organization=organization) for i in range(n)]


def test_a_flood_of_jobs_is_no_flood_of_messages(ear: Ear, acme: str):
    publisher = Publisher(engine().store)

    for _ in range(10):
        publisher.ended(flood(500, acme))
    publisher.flush()

    heard = [one for one in ear.hear() if "flood-" in json.dumps(one) or one["message"].get("jobs")]
    crowds = [one["message"] for one in heard if one["room"] == f"doc:Organization/{acme}"]
    told = sum(one.get("jobs", 1) for one in crowds)
    assert told == 5_000, "every job is in what the room hears"
    assert len(crowds) <= 60, "singly, at most 20 a second"
    assert [one["statuses"] for one in crowds if "jobs" in one][-1] == {"Completed": crowds[-1]["jobs"]}
    assert not [one for one in heard if one["room"].startswith("doc:Background Job/")]


def test_in_a_flood_a_job_that_is_watched_is_told_of(ear: Ear, acme: str):
    watched = people.job(acme)
    rooms.can_subscribe_doc("Background Job", watched)
    publisher = Publisher(engine().store)

    publisher.ended([*flood(500, acme), outcome(watched, organization=acme)])

    assert [one["message"]["name"] for one in ear.hear(rooms.of_job(watched))] == [watched]


def test_in_a_flood_a_job_that_took_a_moment_is_told_of(ear: Ear, acme: str):
    publisher = Publisher(engine().store)

    publisher.ended([*flood(500, acme), outcome("slow-one", organization=acme, duration=0.4)])

    assert len(ear.hear(rooms.of_job("slow-one"))) == 1


def test_nothing_secret_is_told(ear: Ear, acme: str):
    publisher = Publisher(engine().store)
    job = engine().enqueue("test.fail", {"message": "params-secret"}, organization=acme)

    publisher.ended(
        [
            outcome(
                job.name,
                Status.DEAD_LETTER,
                acme,
                error="E: error-secret",
                traceback="traceback-secret",
                result='"result-secret"',
                reason="reason-secret",
            )
        ]
    )
    publisher.progressed(job, 5.0, "Sending with password=message-secret")

    told = json.dumps(ear.hear())
    assert job.name in told
    assert "-secret" not in told


def test_progress_that_comes_after_the_end_is_not_told(ear: Ear, acme: str):
    publisher = Publisher(engine().store)
    job = engine().enqueue("test.noop", organization=acme).evolve(attempts=1, status=Status.RUNNING)

    publisher.ended([outcome(job.name, organization=acme)])
    publisher.progressed(job, 50.0, "late")
    publisher.started(job)

    assert [one["message"]["status"] for one in ear.hear(rooms.of_job(job.name))] == ["Completed"]


def test_a_type_that_only_some_roles_may_see_is_only_counted_in_the_organizations_room(ear: Ear, acme: str):
    role = frappe.get_doc(doctype="Role", role_name=f"Payroll {frappe.generate_hash(length=6)}").insert().name
    frappe.get_doc(doctype="Job Type", type_name="payroll_rt", handler="app.pay", roles=[{"role": role}]).insert()
    publisher = Publisher(engine().store)
    job = engine().enqueue("test.noop", organization=acme).evolve(job_type="payroll_rt", attempts=1)

    publisher.progressed(job, 50.0, "half")
    publisher.ended([outcome(job.name, organization=acme, job_type="payroll_rt")])

    in_organization = [one["message"] for one in ear.hear(f"doc:Organization/{acme}")]
    assert [set(one) for one in in_organization] == [{"jobs", "at"}]


def test_what_a_caller_did_is_told_when_it_is_committed_and_not_before(ear: Ear, here: Any):
    room = f"doc:Organization/{here.organization}"
    job = here.enqueue("test.noop")
    assert ear.hear(room) == []

    frappe.db.commit()
    assert [one["message"]["status"] for one in ear.hear(room)] == ["Queued"]

    engine().cancel(job.name, "Administrator")
    frappe.db.rollback()
    assert ear.hear(room) == []

    engine().cancel(job.name, "Administrator")
    frappe.db.commit()
    assert [one["message"]["status"] for one in ear.hear(rooms.of_job(job.name))] == ["Canceled"]


def test_a_thousand_enqueues_in_a_transaction_are_a_few_messages_to_the_organization(ear: Ear, here: Any):
    engine().enqueue_many(
        "test.noop", [{"i": i} for i in range(1_000)], organization=here.organization, queue="in_process"
    )
    frappe.db.commit()

    heard = [one["message"] for one in ear.hear(f"doc:Organization/{here.organization}")]

    assert sum(one.get("jobs", 1) for one in heard) == 1_000
    assert len(heard) <= 21


def test_a_job_that_is_canceled_while_it_runs_is_told_as_canceled(ear: Ear, here: Any):
    job = here.enqueue("test.fail", {"error": "TransientError"})
    frappe.db.commit()
    runners = RunnersEngine.for_runners(alone=False)
    (claimed,) = runners.store.claim_batch("worker", 1, ("in_process",))
    engine().cancel(job.name, "Administrator")
    frappe.db.commit()
    failed = Outcome.of(claimed, Status.FAILED, error="TransientError")
    runners.store.finish("worker", [failed])

    ear.hear()
    runners.afterwards.tell([failed])

    assert [one["message"]["status"] for one in ear.hear(rooms.of_job(job.name))] == ["Canceled"]
    runners.close()


def test_without_redis_nothing_fails_and_nobody_waits(acme: str, monkeypatch: pytest.MonkeyPatch):
    publisher = Publisher(engine().store)
    asked = []

    class Gone:
        def pipeline(self, transaction: bool) -> Any:
            asked.append("pipeline")
            raise redis.exceptions.ConnectionError("gone")

        def zrange(self, *_: Any) -> Any:
            asked.append("zrange")
            raise redis.exceptions.TimeoutError("gone")

    monkeypatch.setattr(publisher._wire, "_line", Gone)

    for _ in range(5):
        publisher.ended(flood(500, acme))
        publisher.ended(flood(5, acme))
        publisher.flush()

    assert asked == ["zrange"], "it is not asked again before a while has passed"
