"""The site's job types: what apps register with `@job`, overridden by what an administrator has set in Job Type documents.

Apps name their modules in a hook: job_types = ["my_app.jobs"]. Overrides are read from the database at most once a second, so
that a change takes effect everywhere without a restart.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import frappe

from job_engine.core.errors import JobEngineError
from job_engine.core.job_type import TIMEOUTS, JobType, Rate
from job_engine.core.registry import Registry, default_registry
from job_engine.core.retry import RetryPolicy

FRESH_SECONDS = 1.0

COLUMNS = (
    "name enabled queue priority timeout_category timeout isolation commit concurrency rate max_attempts retry_policy"
    " custom_retry dedup_window submit_role"
).split()
_known: dict[str, tuple[float, Overrides]] = {}  # by site
_loaded: set[str] = set()  # modules


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the site's documents say."""

    policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    disabled: frozenset[str] = frozenset()
    submit_roles: dict[str, str] = field(default_factory=dict)

    @classmethod
    def current(cls) -> Overrides:
        return cls.of(frappe.local.site)

    @classmethod
    def of(cls, site: str) -> Overrides:
        at, known = _known.get(site, (0.0, None))
        if known is not None and getattr(frappe.local, "site", None) != site:
            return known  # in a thread without frappe.local, such as a runner's keeper: what its runner has last read
        if known is None or time.monotonic() - at > FRESH_SECONDS:
            columns = ", ".join(f"`{column}`" for column in COLUMNS)
            return remember(frappe.db.sql(f"SELECT {columns} FROM `tabJob Type`"))
        return known


def remember(rows: Iterable[Sequence[Any]]) -> Overrides:
    """Go by these rows of COLUMNS, which were just read."""
    documents = [frappe._dict(zip(COLUMNS, row, strict=True)) for row in rows]
    known = Overrides(
        {document.name: policy_of(document) for document in documents},
        frozenset(document.name for document in documents if not document.enabled),
        {document.name: document.submit_role for document in documents if document.submit_role},
    )
    _known[frappe.local.site] = time.monotonic(), known
    return known


def forget_overrides() -> None:
    """A document was saved: this process need not wait a second to see it."""
    _known.pop(frappe.local.site, None)


def policy_of(document: Any) -> dict[str, Any]:
    """The fields of JobType that a Job Type document overrides. Empty fields leave the code's value alone."""
    policy: dict[str, Any] = {}
    for word in ("queue", "priority", "isolation", "commit"):
        if document.get(word):
            policy[word] = document.get(word)
    for word in ("max_attempts", "concurrency"):
        if document.get(word):
            policy[word] = int(document.get(word))
    if document.get("timeout"):
        policy["timeout"] = int(document.get("timeout"))
    elif document.get("timeout_category"):
        policy["timeout"] = TIMEOUTS.get(document.get("timeout_category"), 0)
    if document.get("rate"):
        policy["rate"] = Rate.parse(document.get("rate"))
    if document.get("dedup_window") not in (None, ""):
        policy["dedup_window"] = int(document.get("dedup_window"))
    if document.get("retry_policy") == "Custom":
        policy["retry"] = RetryPolicy.parse(json.loads(document.get("custom_retry") or "null"))
    elif document.get("retry_policy"):
        policy["retry"] = RetryPolicy.parse(document.get("retry_policy"))
    return policy


class SiteRegistry(Registry):
    """The registered types of the apps that this site has, as they are in force here."""

    def __init__(self, code: Registry = default_registry):
        super().__init__()
        self._code = code
        self._site: str = frappe.local.site
        self._made: dict[str, tuple[dict[str, Any], JobType]] = {}  # types with the overrides they were made from

    @cached_property
    def _apps(self) -> frozenset[str]:
        return frozenset(frappe.get_installed_apps())

    def get(self, name: str) -> JobType | None:
        return self._in_force(self._code.get(name))

    def of_handler(self, handler: Callable[..., Any]) -> JobType | None:
        return self._in_force(self._code.of_handler(handler))

    def __getitem__(self, name: str) -> JobType:
        found = self.get(name)
        return found if found is not None else super().__getitem__(name)

    def __iter__(self) -> Iterator[JobType]:
        policies = Overrides.of(self._site).policies
        return (self._with(policies, job_type) for job_type in self._code if self._is_here(job_type))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def is_isolated(self, name: str) -> bool:
        """Whether each job of the type has a process of its own."""
        known = self.get(name)
        return known is not None and known.isolation == "Process"

    def in_code(self, name: str) -> JobType | None:
        """The type as its app has it, without overrides."""
        return self._code.get(name)

    def _is_here(self, job_type: JobType) -> bool:
        """Apps of other sites on the bench may have registered types in this process."""
        return job_type.handler.__module__.partition(".")[0] in self._apps

    def _in_force(self, found: JobType | None) -> JobType | None:
        if found is None or not self._is_here(found):
            return None
        return self._with(Overrides.of(self._site).policies, found)

    def _with(self, policies: dict[str, dict[str, Any]], job_type: JobType) -> JobType:
        policy = policies.get(job_type.name)
        if not policy:
            return job_type
        known = self._made.get(job_type.name)
        if known is None or known[0] is not policy:
            known = self._made[job_type.name] = policy, job_type.evolve(**policy)
        return known[1]


def load() -> None:
    """Import the modules that the site's apps name in their hook `job_types`, and its configuration under the same name."""
    for module in (*frappe.get_hooks("job_types"), *(frappe.local.conf.get("job_types") or ())):
        if module not in _loaded:
            try:
                import_module(module)
            except ImportError as error:
                raise JobEngineError(
                    f"The hook job_types names {module!r}, which cannot be imported: {error}. Correct the app's hooks.py."
                ) from error
            _loaded.add(module)


def isolated(registry: Registry) -> frozenset[str]:
    """The types whose jobs each have a process of their own."""
    return frozenset(job_type.name for job_type in registry if job_type.isolation == "Process")


def sync() -> None:
    """Make a Job Type document for every registered type, and bring what it tells about the code up to date.

    The tick does this every minute: where nothing has changed, it only reads.
    """
    registry = SiteRegistry()
    load()
    fields = ("handler", "app", "code_policy")
    known = {row.pop("name"): row for row in frappe.get_all("Job Type", fields=["name", *fields])}
    for job_type in registry:
        code = registry.in_code(job_type.name) or job_type
        told = {
            "handler": f"{code.handler.__module__}.{code.handler.__qualname__}",
            "app": code.handler.__module__.partition(".")[0],
            "code_policy": frappe.as_json(described(code), indent=2),
        }
        if code.name in known:
            if known[code.name] != told:
                frappe.db.set_value("Job Type", code.name, told, update_modified=False)
        else:
            document = frappe.get_doc({"doctype": "Job Type", "type_name": code.name, "enabled": 1, **told})
            document.description = (code.handler.__doc__ or "").strip().split("\n")[0]
            document.insert(ignore_permissions=True, ignore_if_duplicate=True)
    forget_overrides()


def described(job_type: JobType) -> dict[str, Any]:
    """The code's policy, for people."""
    return {
        **job_type.policy(),
        "concurrency": job_type.concurrency,
        "rate": f"{job_type.rate.count}/{job_type.rate.seconds:g}s" if job_type.rate else None,
        "isolation": job_type.isolation,
        "idempotent": job_type.idempotent,
    }
