"""The OpenAPI document is up to date, complete, and sound."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import frappe
import pytest

import job_engine.api
from job_engine.api import openapi
from job_engine.api.method import METHODS

STORED = Path(job_engine.__file__).parent.parent / "docs" / "openapi.json"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi.document()


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(child)


def test_the_stored_document_is_up_to_date():
    assert STORED.read_text(encoding="utf-8") == openapi.text(), (
        "The API has changed: run `python -m job_engine.api.openapi docs/openapi.json` in the bench's Python."
    )


def test_every_whitelisted_method_is_in_it(document):
    """Also one that somebody whitelisted without @method."""
    modules = {f: f.__module__ for f in frappe.whitelisted if f.__module__.startswith("job_engine.api")}
    ours = {f.__name__ for f, module in modules.items() if not module.startswith("job_engine.api.desk")}

    assert ours == set(job_engine.api.__all__) == set(METHODS)
    assert set(document["paths"]) == {f"{openapi.PREFIX}{name}" for name in ours}


def test_every_method_can_be_reached_under_its_name():
    for name in job_engine.api.__all__:
        assert frappe.get_attr(f"job_engine.api.{name}") in frappe.whitelisted


def test_every_reference_leads_somewhere(document):
    references = [node["$ref"] for node in _nodes(document) if "$ref" in node]

    assert references
    for reference in references:
        assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"], reference


def test_every_operation_is_whole(document):
    names = set()
    for path, operations in document["paths"].items():
        ((verb, operation),) = operations.items()
        method = METHODS[path.removeprefix(openapi.PREFIX)]
        assert verb == ("post" if method.changes else "get")
        assert operation["summary"].endswith((".", ".", ":")) and operation["operationId"] not in names
        names.add(operation["operationId"])
        assert {"403", "400", str(method.status)} <= set(operation["responses"])
        assert all(response["description"] for response in operation["responses"].values())


def test_every_argument_is_described(document):
    for path, operations in document["paths"].items():
        method = METHODS[path.removeprefix(openapi.PREFIX)]
        (operation,) = operations.values()
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        told = {name: schema.get("description") for name, schema in body.get("properties", {}).items()}
        told |= {p["name"]: p.get("description") for p in operation.get("parameters", ()) if p["in"] == "query"}
        assert set(told) == set(inspect.signature(method.function).parameters)
        assert all(told.values()), f"{path} does not describe {[name for name, text in told.items() if not text]}"


def test_the_document_names_the_version_and_is_json(document):
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == job_engine.__version__
    assert json.loads(openapi.text()) == document


def test_real_answers_are_as_described(cast, dead_letter, later, document):
    """A small check of the shapes: what is promised is there, and nothing else."""
    calls = {
        "submit_job": {"job_type": "test.noop", "run_after": later},
        "get_job_status": {"name": dead_letter},
        "get_job": {"name": dead_letter},
        "get_job_history": {"name": dead_letter},
        "explain_job": {"name": dead_letter},
        "list_jobs": {},
        "get_job_metrics": {},
        "workers": {},
        "dead_letter_causes": {},
        "organization_ledger": {},
        "retry_jobs": {"preview": True},
    }
    for name, arguments in calls.items():
        (operation,) = document["paths"][f"{openapi.PREFIX}{name}"].values()
        success = operation["responses"][str(METHODS[name].status)]["content"]["application/json"]["schema"]
        _check(cast["manager"].call(name, **arguments), success["properties"]["message"], document, name)


def _check(value: Any, schema: dict[str, Any], document: dict[str, Any], where: str) -> None:
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        fitting = [s for s in schema["anyOf"] if (value is None) == (s.get("type") == "null")]
        assert fitting, f"{where} is {value!r}"
        return _check(value, fitting[0], document, where)
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
    }
    if "type" in schema:
        assert isinstance(value, kinds[schema["type"]]), f"{where} is {value!r}, and should be of type {schema['type']}"
    if "properties" in schema:
        assert set(value) == set(schema["properties"]), where
        for key, child in schema["properties"].items():
            _check(value[key], child, document, f"{where}.{key}")
    for i, item in enumerate(value if isinstance(value, list) else ()):
        _check(item, schema.get("items", {}), document, f"{where}[{i}]")
    return None
