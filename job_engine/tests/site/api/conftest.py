"""People with API keys, committed, so that the web server sees them; taken away again at the end."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

import frappe
import pytest
import requests
from frappe.utils.password import set_encrypted_password

from job_engine.core.priority import lane_of
from job_engine.tests.site import people
from job_engine.tests.site.api.client import Client


@dataclass
class Cast:
    """Two organizations, and who calls."""

    acme: str
    globex: str
    users: dict[str, str] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)

    def __getitem__(self, who: str) -> Client:
        return self.clients[who]


@pytest.fixture(scope="session")
def web_url(connected: str) -> str:
    url = os.environ["JOB_ENGINE_SITE_URL"]
    answer = requests.get(f"{url}/api/method/ping", headers={"Host": connected}, timeout=30)
    assert answer.json() == {"message": "pong"}
    return url


@pytest.fixture(scope="session")
def cast(connected: str, web_url: str) -> Iterator[Cast]:
    frappe.set_user("Administrator")
    acme, globex = people.organization("Acme"), people.organization("Globex")
    made = Cast(acme, globex)
    first = people.user()  # the first System User of a site is made System Manager by Frappe
    parts: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "operator": (("System Manager",), ()),
        "manager": (("Job Manager",), (acme,)),
        "user": (("Job User",), (acme,)),
        "other": (("Job Manager",), (globex,)),
        "outsider": (("Job Manager",), ()),
        "without_roles": ((), (acme,)),
        "disabled": (("Job Manager",), (acme,)),
        "busy": (("Job Manager",), (acme,)),  # who uses up a limit
    }
    for who, (roles, organizations) in parts.items():
        made.users[who] = people.user(*roles, organizations=organizations)
        made.clients[who] = Client(web_url, connected, _key(made.users[who]))
    made.clients["guest"] = Client(web_url, connected)
    frappe.db.set_value("User", made.users["disabled"], "enabled", 0)
    frappe.db.commit()
    yield made
    frappe.db.rollback()
    _remove([*made.users.values(), first], [acme, globex])


def _key(user: str) -> str:
    key, secret = secrets.token_hex(8), secrets.token_hex(8)
    frappe.db.set_value("User", user, "api_key", key)
    set_encrypted_password("User", user, secret, "api_secret")
    return f"{key}:{secret}"


def _remove(users: list[str], organizations: list[str]) -> None:
    frappe.set_user("Administrator")
    people.forget_jobs(organizations)
    for name in organizations:
        frappe.db.sql("DELETE FROM `__job_engine_control` WHERE target = %s", name)
        frappe.db.sql("DELETE FROM `__job_engine_stat` WHERE organization = %s", name)
    people.forget_users(users)
    frappe.db.delete("Organization", {"name": ["in", organizations]})
    frappe.db.commit()


@pytest.fixture
def later() -> str:
    """A time at which no test's job must run."""
    return "2099-01-01T00:00:00+00:00"


@pytest.fixture
def dead_letter(cast: Cast) -> Iterator[str]:
    """A dead letter of Acme's."""
    yield make_dead_letter(cast.acme)


def make_dead_letter(organization: str, **columns: object) -> str:
    values = {
        "job_type": "test.effect",
        "status": "Dead Letter",
        "params": '{"value":"old"}',
        "attempts": 2,
        "last_error": "ValueError: Invoice INV-1 not found",
        "error_type": "Permanent",
        "reason": "permanent error",
        "traceback": "Traceback (most recent call last): ValueError",
        "ended_at": frappe.utils.now_datetime(),
        **columns,
    }
    lane = lane_of(values.get("priority", "Normal"), values.get("queue", "default"), organization, values["job_type"])
    name = people.job(organization, **{"lane": lane, **values})
    frappe.db.commit()
    return name
