"""The OpenAPI document of the API, made from the methods themselves: signatures, types, docstrings and what `@method` says.

    python -m job_engine.api.openapi docs/openapi.json

in the bench's Python writes it; a test fails when the stored one is out of date.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

import job_engine
from job_engine import api
from job_engine.api.errors import STATUSES
from job_engine.api.method import METHODS, Method
from job_engine.core.states import Status
from job_engine.site import listing

PREFIX = "/api/method/job_engine.api."
_REFERENCE = "#/components/schemas/{model}"
_ARGUMENT = re.compile(r"^(\w+): (.+)$")

_INTRODUCTION = """\
Durable background jobs of a Frappe site. Every method is called as /api/method/job_engine.api.<name>, with a session and its \
CSRF token or with an API key, and answers with JSON whose `message` is what is described here. What a caller may not see does \
not exist for them: an unknown job and a job of another organization are the same 404. Times are ISO 8601 in UTC."""

_PROBLEMS = {
    400: "An argument cannot be accepted; the message says which and why.",
    403: "The caller may not do this.",
    404: "There is no such job that the caller may see.",
    409: "The job's state, or its type, does not allow this.",
    413: "The parameters are larger than the limit.",
    422: "The Idempotency-Key was used for another request.",
    429: "Too many requests, or too many waiting jobs of the organization.",
    503: "The database could not do this now. Try again.",
}


class Error(TypedDict):
    type: str
    message: str


class Problem(TypedDict):
    """What every refusal answers with. `_server_messages` is the same for Frappe's own clients."""

    exc_type: str
    error: Error


def document() -> dict[str, Any]:
    """The whole document, the same each time."""
    schemas: dict[str, Any] = {"JobFilters": _filters_schema()}
    problem = _schema_of(Problem, schemas)
    paths = {f"{PREFIX}{name}": _path(METHODS[name], schemas, problem) for name in sorted(api.__all__)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Job Engine",
            "version": job_engine.__version__,
            "description": _INTRODUCTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "The site"}],
        "security": [{"apiKey": []}, {"session": [], "csrf": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "token <api_key>:<api_secret> of a user",
                },
                "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
                "csrf": {"type": "apiKey", "in": "header", "name": "X-Frappe-CSRF-Token"},
            },
        },
    }


def text() -> str:
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


# One method ------------------------------------------------------------------------------------------------------------------


def _path(method: Method, schemas: dict[str, Any], problem: dict[str, Any]) -> dict[str, Any]:
    summary, description, about = _told(method)
    operation: dict[str, Any] = {
        "operationId": method.name,
        "summary": summary,
        "description": "\n\n".join(
            filter(None, (description, "For managers of the organization only." if method.managers else ""))
        ),
        "tags": ["change" if method.changes else "read"],
        "responses": _responses(method, schemas, problem),
    }
    parameters = [_header_parameter()] if method.takes_key else []
    if method.changes:
        operation["requestBody"] = {
            "required": _is_needed(method),
            "content": {"application/json": {"schema": _body(method, about, schemas)}},
        }
    else:
        parameters += _query(method, about, schemas)
    if parameters:
        operation["parameters"] = parameters
    return {"post" if method.changes else "get": {k: v for k, v in operation.items() if v != ""}}


def _told(method: Method) -> tuple[str, str, dict[str, str]]:
    """The docstring: its first sentence, the rest, and its lines about arguments."""
    paragraphs = [" ".join(p.split("\n")) for p in inspect.cleandoc(method.function.__doc__ or "").split("\n\n")]
    about: dict[str, str] = {}
    last = inspect.cleandoc(method.function.__doc__ or "").split("\n\n")[-1]
    for line in last.split("\n"):
        found = _ARGUMENT.match(line)
        if found and found[1] in method.signature.parameters:
            about[found[1]] = found[2]
    told = paragraphs[:-1] if about else paragraphs
    return told[0], "\n\n".join(told[1:]), about


def _body(method: Method, about: dict[str, str], schemas: dict[str, Any]) -> dict[str, Any]:
    properties = {name: _argument(method, name, about, schemas) for name in method.signature.parameters}
    needed = [n for n, p in method.signature.parameters.items() if p.default is p.empty]
    body: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**body, "required": needed} if needed else body


def _query(method: Method, about: dict[str, str], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for name, parameter in method.signature.parameters.items():
        schema = _argument(method, name, about, schemas)
        entry: dict[str, Any] = {"name": name, "in": "query", "required": parameter.default is parameter.empty}
        if "description" in schema:
            entry["description"] = schema.pop("description")
        if name == "filters":  # an object in a query is its JSON
            found.append({**entry, "content": {"application/json": {"schema": schema}}})
        else:
            found.append({**entry, "schema": schema})
    return found


def _argument(method: Method, name: str, about: dict[str, str], schemas: dict[str, Any]) -> dict[str, Any]:
    parameter = method.signature.parameters[name]
    if name == "filters":
        schema: dict[str, Any] = {"$ref": _REFERENCE.format(model="JobFilters")}
    else:
        schema = _schema_of(method.function.__annotations__[name], schemas)
    if parameter.default not in (parameter.empty, None, ""):
        schema["default"] = parameter.default
    if name in about:
        schema["description"] = about[name]
    return schema


def _is_needed(method: Method) -> bool:
    return any(p.default is p.empty for p in method.signature.parameters.values())


def _header_parameter() -> dict[str, Any]:
    return {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "Repeating a request with the same key makes no second job. One key for each new request.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    }


def _responses(method: Method, schemas: dict[str, Any], problem: dict[str, Any]) -> dict[str, Any]:
    answer = _schema_of(method.function.__annotations__["return"], schemas)
    if method.content_type == "application/json":
        answer = {"type": "object", "properties": {"message": answer}, "required": ["message"]}
    content = {method.content_type: {"schema": answer}}
    responses: dict[str, Any] = {str(method.status): {"description": "Done.", "content": content}}
    if method.takes_key:
        responses["202"]["description"] = "Accepted: the job will run."
        responses["200"] = {"description": "All of it was there already.", "content": content}
    for status in _statuses_of(method):
        responses[str(status)] = {
            "description": _PROBLEMS[status],
            "content": {"application/json": {"schema": problem}},
        }
    return dict(sorted(responses.items()))


def _statuses_of(method: Method) -> list[int]:
    known = {status for _, status in STATUSES}
    wanted = {400, 403, 429, 503}
    if "name" in method.signature.parameters:
        wanted |= {404}
    if method.changes:
        wanted |= {409}
    if "params" in method.signature.parameters or "jobs" in method.signature.parameters:
        wanted |= {413}
    if method.takes_key:
        wanted |= {422}
    return sorted(wanted & known)


# Schemas -------------------------------------------------------------------------------------------------------------------


def _schema_of(annotation: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a Python type. What has a name of its own goes to the document's components."""
    mode: Any = "serialization"
    schema = TypeAdapter(annotation).json_schema(ref_template=_REFERENCE, mode=mode)
    for name, definition in schema.pop("$defs", {}).items():
        schemas[name] = _plain(definition)
    if schema.get("type") == "object" and "title" in schema:
        name = schema["title"]
        schemas[name] = _plain(schema)
        return {"$ref": _REFERENCE.format(model=name)}
    found: dict[str, Any] = _plain(schema)
    return found


def _plain(schema: Any) -> Any:
    """Without the titles that only repeat the names."""
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema


def _filters_schema() -> dict[str, Any]:
    """From the words that a list of jobs can be filtered by."""
    words = {
        word: {
            "anyOf": [_word(word), {"type": "array", "items": _word(word), "minItems": 1, "maxItems": 100}],
        }
        for word in listing.WORDS
    }
    times = {word: {"type": "string", "format": "date-time"} for word in listing.TIMES}
    texts = {word: {"type": "string"} for word in listing.TEXTS}
    cause = {"cause": {"type": "string", "description": "One of dead_letter_causes; for retry_jobs."}}
    return {
        "type": "object",
        "description": "Which jobs. All that is given must fit; of a list, any.",
        "properties": {**words, **times, **texts, **cause},
        "additionalProperties": False,
    }


def _word(word: str) -> dict[str, Any]:
    return {"type": "string", "enum": [s.value for s in Status]} if word == "status" else {"type": "string"}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text(), encoding="utf-8")
    else:
        sys.stdout.write(text())
