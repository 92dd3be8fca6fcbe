"""Fixtures for every test folder. A missing service is a skip that is counted and said loudly; in CI it is a failure."""

from __future__ import annotations

import importlib.util
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from job_engine.tests.clock import FrozenClock
from job_engine.tests.databases import KINDS, ScratchDatabase

# service: its name for people, the Python package that its tests need
SERVICES = {
    "postgresql": ("PostgreSQL", "psycopg"),
    "mariadb": ("MariaDB", "pymysql"),
    "redis": ("Redis", "redis"),
}
DATABASES = ["sqlite", *(pytest.param(kind, marks=getattr(pytest.mark, kind)) for kind in KINDS)]

# These run inside a Frappe site.
collect_ignore = [] if importlib.util.find_spec("frappe") else ["site"]

try:
    from hypothesis import settings
except ImportError:
    pass
else:
    # A database answers when it answers: hypothesis' deadline for one example would make a slow machine fail. In CI the
    # examples are the same in each run; new ones are found on developers' machines.
    settings.register_profile("developer", deadline=None)
    settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
    settings.load_profile("ci" if os.environ.get("CI") else "developer")


# Databases -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest) -> str:
    """A clean database with the engine's tables, on each database in turn."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture(params=DATABASES)
def blank_database_url(request: pytest.FixtureRequest) -> str:
    """A database with no table at all, on each database in turn. Slower: for tests of the schema itself."""
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_url")
    database: ScratchDatabase = request.getfixturevalue(f"_{request.param}_blank")
    database.clean()
    return database.url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'jobs.db'}"


@pytest.fixture
def postgresql_url(_postgresql_database: ScratchDatabase) -> str:
    _postgresql_database.clean()
    return _postgresql_database.url


@pytest.fixture
def mariadb_url(_mariadb_database: ScratchDatabase) -> str:
    _mariadb_database.clean()
    return _mariadb_database.url


@pytest.fixture
def redis_url() -> str:
    return _server_url("redis")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


def _create_tables(url: str) -> None:
    from job_engine.engine import Engine

    with closing(Engine.open(url)):
        pass


def _session_database(
    kind: str, label: str, create_tables: Callable[[str], None] | None
) -> Callable[[], Iterator[ScratchDatabase]]:
    @pytest.fixture(scope="session", name=f"_{kind}_{label}")
    def scratch_database() -> Iterator[ScratchDatabase]:
        database = KINDS[kind](_server_url(kind), label, create_tables)
        yield database
        database.drop()

    return scratch_database


_postgresql_database = _session_database("postgresql", "database", _create_tables)
_mariadb_database = _session_database("mariadb", "database", _create_tables)
_postgresql_blank = _session_database("postgresql", "blank", None)
_mariadb_blank = _session_database("mariadb", "blank", None)


# Missing services ----------------------------------------------------------------------------------------------------


def _server_url(service: str) -> str:
    title, package = SERVICES[service]
    variable = f"JOB_ENGINE_TEST_{service.upper()}"
    url = os.environ.get(variable)
    if not url:
        _missing(service, f"needs {title}, and {variable} is not set")
    if importlib.util.find_spec(package) is None:
        _missing(service, f"needs {title}, and the Python package {package} is not installed")
    return url or ""


def _missing(service: str, reason: str) -> None:
    if os.environ.get("JOB_ENGINE_REQUIRE_SERVICES"):
        pytest.fail(f"{reason}; JOB_ENGINE_REQUIRE_SERVICES says that it must be there", pytrace=False)
    pytest.skip(reason)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that uses a service's fixture has its mark: `-m "not mariadb"` needs no bookkeeping."""
    for item in items:
        for service in SERVICES:
            if f"{service}_url" in getattr(item, "fixturenames", ()):
                item.add_marker(service)


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last thing on the screen, below pytest's own summary: what was not tested, and why."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = _skipped_for_a_service(reporter.stats.get("skipped", []))
    if not skipped:
        return
    lines = [
        f"{skipped.total()} TESTS WERE SKIPPED because a service is missing:",
        "",
        *(f"  {count:5}  {reason}" for reason, count in sorted(skipped.items())),
        "",
        "`make services` installs and starts them (Debian, Ubuntu; root or passwordless sudo),",
        "then `make test` runs these tests too.",
    ]
    width = max(map(len, lines))
    reporter.ensure_newline()
    for line in ("#" * (width + 4), *(f"# {line:{width}} #" for line in lines), "#" * (width + 4)):
        reporter.write_line(line, red=True, bold=True)


def _skipped_for_a_service(reports: list[pytest.TestReport]) -> Counter[str]:
    reasons = (report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple))
    return Counter(found.group() for reason in reasons if (found := re.search(r"needs \w+, and .*", reason)))
