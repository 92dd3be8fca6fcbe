"""Every method against everybody: two organizations, an operator, and those who may do nothing at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import frappe
import pytest

import job_engine.api
from job_engine.api.method import METHODS
from job_engine.tests.site.api.client import Answer
from job_engine.tests.site.api.conftest import Cast, make_dead_letter

LATER = "2099-01-01T00:00:00+00:00"
NOBODIES = ("without_roles", "disabled", "guest")

# What each answers to the operator, Acme's manager and user, Globex's manager, and a manager of no organization, when asked
# about Acme. A fresh dead letter of Acme's is `name`.
_LOOK = (200, 200, 200, 404, 404)
_ACT = (200, 200, 403, 404, 404)
_LIST = (200, 200, 200, 200, 200)
MATRIX: dict[str, tuple[Callable[[Cast, str], dict[str, Any]], tuple[int, ...]]] = {
    "submit_job": (
        lambda c, name: {"job_type": "test.noop", "organization": c.acme, "run_after": LATER},
        (202, 202, 403, 403, 403),
    ),
    "schedule": (
        lambda c, name: {"jobs": [{"job_type": "test.noop"}], "organization": c.acme, "run_after": LATER},
        (202, 202, 403, 403, 403),
    ),
    "get_job_status": (lambda c, name: {"name": name}, _LOOK),
    "get_job": (lambda c, name: {"name": name}, _LOOK),
    "get_job_history": (lambda c, name: {"name": name}, _LOOK),
    "explain_job": (lambda c, name: {"name": name}, _LOOK),
    "list_jobs": (lambda c, name: {"filters": {"organization": c.acme}}, _LIST),
    "dead_letter_causes": (lambda c, name: {}, _LIST),
    "retry_job": (lambda c, name: {"name": name, "run_after": LATER}, _ACT),
    "cancel_job": (lambda c, name: {"name": _canceled(name)}, _ACT),
    "retry_jobs": (lambda c, name: {"filters": {"organization": c.acme}, "preview": True}, (200, 200, 403, 200, 200)),
    "pause": (lambda c, name: {"scope": "organization", "target": c.globex}, (200, 403, 403, 403, 403)),
    "resume": (lambda c, name: {"scope": "organization", "target": c.globex}, (200, 403, 403, 200, 403)),
    "get_job_metrics": (lambda c, name: {"organization": c.acme}, (200, 200, 200, 403, 403)),
    "prometheus": (lambda c, name: {"organization": c.acme}, (200, 200, 200, 403, 403)),
    "workers": (lambda c, name: {}, (200, 200, 403, 200, 200)),
    "organization_ledger": (lambda c, name: {}, (200, 200, 403, 200, 200)),
}


def _canceled(name: str) -> str:
    """A job that can be canceled, instead of a dead letter."""
    frappe.db.set_value("Background Job", name, {"status": "Pending", "run_after": "2099-01-01"}, update_modified=False)
    frappe.db.commit()
    return name


def test_the_matrix_has_every_method():
    assert set(MATRIX) == set(METHODS) == set(job_engine.api.__all__)


@pytest.mark.parametrize("method", sorted(MATRIX))
def test_everybody_gets_what_they_may_have_and_nothing_else(cast, method):
    arguments_of, expected = MATRIX[method]
    whole_row = zip(("operator", "manager", "user", "other", "outsider"), expected, strict=True)
    for who, status in whole_row:
        name = make_dead_letter(cast.acme)
        answer = cast[who].post(method, **arguments_of(cast, name))
        assert (who, answer.status) == (who, status), answer.text
        if status >= 400:
            assert answer.error and answer.shown, f"{who} is told nothing"
            assert "Traceback" not in answer.text and "SELECT" not in answer.text
        elif who in ("other", "outsider"):
            assert cast.acme not in answer.text and name not in answer.text


@pytest.mark.parametrize("who", NOBODIES)
@pytest.mark.parametrize("method", sorted(MATRIX))
def test_nobody_else_gets_anything(cast, dead_letter, method, who):
    answer = cast[who].post(method, **MATRIX[method][0](cast, dead_letter))

    assert answer.status == 403
    assert answer.message is None


@pytest.mark.parametrize("method", sorted(name for name, m in METHODS.items() if m.changes))
def test_what_changes_something_cannot_be_called_with_get(cast, dead_letter, method):
    answer = cast["operator"].get(method)

    assert answer.status == 403


def test_an_unknown_job_and_somebody_elses_are_told_apart_by_nothing(cast, dead_letter):
    unknown = dead_letter[:-4] + "0000"
    theirs = cast["other"].post("get_job", name=dead_letter)
    none = cast["other"].post("get_job", name=unknown)

    assert theirs.status == none.status == 404
    assert theirs.text.replace(dead_letter, "X") == none.text.replace(unknown, "X")


def test_a_traceback_is_for_managers(cast, dead_letter):
    assert "Traceback" in cast["manager"].call("get_job", name=dead_letter)["traceback"]
    assert cast["user"].call("get_job", name=dead_letter)["traceback"] is None


def test_a_job_type_can_be_kept_for_those_with_a_role(cast):
    """Seeing its jobs and submitting them are two permissions."""
    document = frappe.get_doc("Job Type", "test.sleep")
    hidden = make_dead_letter(cast.acme, job_type="test.sleep")

    def submit() -> Answer:
        return cast["manager"].post("submit_job", job_type="test.sleep", organization=cast.acme, run_after=LATER)

    def refused(status: int) -> str:
        """What the refusal says, once it comes: each web process reads Job Types again within a second."""
        until = time.monotonic() + 10
        while (answer := submit()).status != status:
            assert time.monotonic() < until, answer.text
        return answer.error

    try:
        document.append("roles", {"role": "Translator"})
        document.submit_role = None
        document.save()
        frappe.db.commit()

        assert cast["manager"].post("get_job", name=hidden).status == 404
        assert cast["operator"].post("get_job", name=hidden).status == 200
        listed = cast["manager"].call("list_jobs", filters={"job_type": "test.sleep"})
        assert listed["jobs"] == [] and listed["total"] == 0
        assert "No job type is called" in refused(400)

        document.roles = []
        document.submit_role = "Translator"
        document.save()
        frappe.db.commit()
        assert "Translator" in refused(403)
        assert cast["manager"].post("get_job", name=hidden).status == 200

        document.submit_role, document.enabled = None, 0
        document.save()
        frappe.db.commit()
        assert "disabled" in refused(409)
    finally:
        document.roles, document.submit_role, document.enabled = [], None, 1
        document.save()
        frappe.db.commit()


# Pause -------------------------------------------------------------------------------------------------------------------


def test_a_manager_pauses_their_own_organization_and_no_more(cast):
    manager = cast["manager"]
    first = manager.call("pause", scope="organization", target=cast.acme, reason="month-end")
    assert first["changed"] and not manager.call("pause", scope="organization", target=cast.acme)["changed"]
    waiting = manager.call("submit_job", job_type="test.noop", organization=cast.acme)
    assert "paused by" in manager.call("explain_job", name=waiting["name"])["explanation"]
    manager.call("cancel_job", name=waiting["name"])
    assert manager.call("resume", scope="organization", target=cast.acme)["changed"]
    assert not manager.call("resume", scope="organization", target=cast.acme)["changed"]

    for scope, target in (("everything", ""), ("queue", "default"), ("type", "test.noop")):
        assert manager.post("pause", scope=scope, target=target).status == 403


def test_what_an_operator_has_paused_a_manager_cannot_resume(cast):
    cast["operator"].call("pause", scope="organization", target=cast.acme, reason="unpaid")
    try:
        assert cast["manager"].post("resume", scope="organization", target=cast.acme).status == 403
        assert cast["manager"].post("pause", scope="organization", target=cast.acme).status == 403
    finally:
        cast["operator"].call("resume", scope="organization", target=cast.acme)


@pytest.mark.parametrize(
    ("scope", "target", "told"),
    [
        ("type", "no_such", "No job type"),
        ("queue", "no_such", "no queue"),
        ("type", "", "Which type"),
        ("galaxy", "x", ""),
    ],
)
def test_what_does_not_exist_cannot_be_paused(cast, scope, target, told):
    answer = cast["operator"].post("pause", scope=scope, target=target)

    assert answer.status == 400
    assert told in answer.error
