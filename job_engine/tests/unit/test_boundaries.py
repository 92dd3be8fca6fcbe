"""What the engine may import: no Frappe anywhere, and next to nothing for `import job_engine`."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterable

import pytest

import job_engine

# These live in a Frappe site, or come and go with it. Everything else must import without Frappe.
FRAPPE_HOME = ("site", "api", "job_engine", "commands", "install", "hooks", "patches", "tests")

# `import job_engine` happens in every process of an application that enqueues a job now and then. It may load these and
# what they load themselves.
LIGHT = (
    "__future__ abc bisect collections collections.abc contextlib contextvars copy dataclasses datetime decimal enum"
    " functools hashlib heapq importlib inspect io itertools json logging math numbers operator os random re secrets"
    " sqlite3 string textwrap threading time traceback types typing urllib.parse uuid warnings weakref"
).split()

# Named although none is in LIGHT, because these are what somebody would add by accident.
HEAVY = set("asyncio click django frappe httpx psycopg pymysql redis requests rich sqlalchemy".split())

# Not an ImportError: `try: import frappe` would swallow that.
WITHOUT_FRAPPE = """
import sys
class NoFrappe:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "frappe":
            raise RuntimeError("it imports frappe")
sys.meta_path.insert(0, NoFrappe())
"""


def framework_free_modules() -> list[str]:
    def walk(path: Iterable[str], prefix: str) -> Iterable[str]:
        for module in pkgutil.iter_modules(path):
            name = prefix + module.name
            if name.split(".")[1] in FRAPPE_HOME:
                continue
            yield name
            if module.ispkg:
                yield from walk([f"{entry}/{module.name}" for entry in path], name + ".")

    return ["job_engine", *walk(list(job_engine.__path__), "job_engine.")]


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def modules_after(imports: Iterable[str]) -> set[str]:
    code = "import importlib, json, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\n"
    done = python(code + "print(json.dumps(sorted(sys.modules)))", *imports)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("module", framework_free_modules())
def test_a_framework_free_module_imports_first_and_without_frappe(module: str) -> None:
    done = python(f"{WITHOUT_FRAPPE}\nimport {module}")
    assert done.returncode == 0, done.stderr


def test_the_guard_against_frappe_also_sees_an_import_that_is_tried() -> None:
    done = python(f"{WITHOUT_FRAPPE}\ntry:\n    import frappe\nexcept ImportError:\n    pass")
    assert "it imports frappe" in done.stderr


def test_importing_job_engine_loads_only_light_modules() -> None:
    loaded = {name for name in modules_after(["job_engine"]) if name.partition(".")[0] != "job_engine"}
    assert {name for name in loaded if name.partition(".")[0] in HEAVY} == set()
    assert loaded - modules_after(LIGHT) == set()
