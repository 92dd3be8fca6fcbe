"""install-app, migrate and uninstall-app on a site of its own, made for this file and dropped after it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

SITE = "job-engine-install.localhost"
ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

Python = Callable[[str], object]

# Everything that an app can leave behind. Comments, logs and versions of Frappe's own documents are not ours.
SNAPSHOT = """
    def names(doctype):
        return sorted(map(str, frappe.get_all(doctype, pluck="name", limit=0)))

    kinds = "Role, DocType, Module Def, Scheduled Job Type, Property Setter, Custom Field, Custom DocPerm, Workspace, Page"
    kinds = (kinds + ", Report, Number Card, Dashboard Chart, Notification, Server Script, User Permission").split(", ")
    found = {kind: names(kind) for kind in kinds}
    found["tables"] = sorted(frappe.db.get_tables(cached=False))
    found["sequences"] = sorted(row[0] for row in frappe.db.sql(
        "SELECT sequence_name FROM information_schema.sequences" if frappe.db.db_type == "postgres" else
        "SELECT table_name FROM information_schema.tables WHERE table_type = 'SEQUENCE' AND table_schema = DATABASE()"))
    cleared = frappe.get_all("Logs To Clear", pluck="ref_doctype")
    found["logs"] = [name for name in cleared if name == "Background Job"]  # saving them adds Frappe's own
    found["roles of users"] = sorted(set(frappe.get_all("Has Role", pluck="role", limit=0)))
    found["permissions"] = sorted(set(frappe.get_all("DocPerm", pluck="parent", limit=0)))
    found["singles"] = sorted(row[0] for row in frappe.db.sql("SELECT DISTINCT doctype FROM `tabSingles`"))
    found["hooks"] = sorted(frappe.get_installed_apps())
    answer = found
"""

TABLES = """
    tables = ["tabBackground Job", "tabJob Execution Log", *tables.INTERNAL.values()]
    if frappe.db.db_type == "mariadb":
        answer = {table: frappe.db.sql(f"SHOW CREATE TABLE `{table}`")[0][1] for table in tables}
    else:
        answer = {table: [
            frappe.db.sql("SELECT indexdef FROM pg_indexes WHERE tablename = %s ORDER BY 1", table),
            frappe.db.sql("SELECT column_name, data_type, collation_name, is_nullable, column_default FROM"
                          " information_schema.columns WHERE table_name = %s ORDER BY 1", table)] for table in tables}
"""


@pytest.fixture(scope="module")
def bench_command(bench: Path) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        command = [str(bench.parent / "tools/bin/bench"), *arguments]
        done = subprocess.run(command, cwd=bench, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{' '.join(command[1:3])}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    return run


@pytest.fixture(scope="module")
def python(bench: Path) -> Python:
    """Run code on the site in a process of its own, which knows nothing from before; the answer is its `answer`."""

    def run(code: str) -> object:
        program = (
            f"import frappe, json\nfrappe.init(site={SITE!r})\nfrappe.connect()\nfrappe.set_user('Administrator')\n"
            f"from job_engine.site import tables\nanswer = None\n{textwrap.dedent(code)}\n"
            "frappe.db.commit()\nprint('ANSWER', json.dumps(answer, default=str))"
        )
        done = subprocess.run(
            [str(bench / "env/bin/python"), "-c", program],
            cwd=bench / "sites",
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.rpartition("ANSWER ")[2])

    return run


@pytest.fixture(scope="module")
def plain_site(bench: Path, bench_command: Callable[..., str]) -> Iterator[str]:
    """A site with nothing but Frappe, on the database of the other tests' site."""
    config = json.loads((bench / "sites" / os.environ["JOB_ENGINE_SITE"] / "site_config.json").read_text())
    kind = config.get("db_type", "mariadb")
    service = "postgresql" if kind == "postgres" else kind
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JOB_ENGINE_TEST_")}
    told = subprocess.run(
        [str(ROOT / "scripts/services"), "env", service],
        env={**environment, "JOB_ENGINE_SERVICES_DIR": str(bench.parent / "services")},
        capture_output=True,
        text=True,
    ).stdout
    if not told.strip():
        pytest.skip(
            f"The bench's {service} was not started by scripts/site: no account that may make a database is known."
        )
    server = urlsplit(told.strip().partition("=")[2])
    root = ["--db-root-username", server.username, "--db-root-password", server.password]
    where = ["--db-type", kind, "--db-host", server.hostname, "--db-port", str(server.port)]
    bench_command("new-site", SITE, "--force", *where, *root, "--admin-password", "of-no-use-to-anybody")
    yield SITE
    bench_command("drop-site", SITE, "--force", "--no-backup", *root, "--archived-sites-path", str(bench / "dropped"))
    shutil.rmtree(bench / "dropped")


@pytest.fixture(scope="module")
def before(plain_site: str, python: Python) -> object:
    return python(SNAPSHOT)


@pytest.fixture(scope="module")
def installed(before: object, plain_site: str, bench_command: Callable[..., str]) -> str:
    bench_command("--site", plain_site, "clear-cache")
    bench_command("--site", plain_site, "install-app", "job_engine")
    return plain_site


def test_a_fresh_site_has_all_that_the_engine_needs(installed, python):
    found = python(SNAPSHOT)

    assert {"Job Manager", "Job User"} <= set(found["Role"])
    assert {"Background Job", "Job Execution Log", "Job Type", "Job Engine Settings", "Organization"} <= set(
        found["DocType"]
    )
    assert {"__job_engine_control", "__job_engine_dependency", "__job_engine_stat", "__job_engine_worker"} <= set(
        found["tables"]
    )
    assert "Background Job" in found["logs"]


def test_the_site_has_settings_without_anybody_saving_them(installed, python):
    values = python("answer = frappe.get_doc('Job Engine Settings').as_dict()")

    assert (values["tenant_doctype"], values["max_waiting_jobs"], values["lease_seconds"]) == (
        "Organization",
        10_000,
        60,
    )
    assert values["retention_days"] == 30


def test_keys_are_compared_by_their_bytes_and_the_log_numbers_itself(installed, python):
    shapes = python(TABLES)
    job, log = (json.dumps(shapes[table]) for table in ("tabBackground Job", "tabJob Execution Log"))

    if "SHOW CREATE" in job or "utf8mb4" in job:
        assert all(
            f"`{column}` varchar({n}) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin" in job
            for column, n in (("lane", 460), ("dedup_key", 140), ("dedup_slot", 140), ("job_hash", 140))
        )
        assert "AUTO_INCREMENT" in log
    else:
        assert '["lane", "character varying", "C"' in job
        assert "nextval" in log


def test_what_one_migrate_leaves_the_next_one_does_not_change(installed, python, bench_command):
    fresh = python(TABLES)

    bench_command("--site", installed, "migrate")
    once = python(TABLES)
    bench_command("--site", installed, "migrate")

    assert _without_counters(python(TABLES)) == _without_counters(once) == _without_counters(fresh)


def test_uninstalling_leaves_nothing_behind(installed, before, python, bench_command):
    python("""
        frappe.get_doc(doctype="Organization", organization_name="Acme").insert()
        user = frappe.get_doc(doctype="User", email="user@example.com", first_name="User", send_welcome_email=0)
        user.append("roles", {"role": "Job Manager"})
        user.insert()
        frappe.get_doc(doctype="User Permission", user=user.name, allow="Organization", for_value="Acme").insert()
        settings = frappe.get_doc("Job Engine Settings")
        settings.tenant_doctype = "Language"
        settings.save()
    """)

    bench_command("--site", installed, "uninstall-app", "job_engine", "--yes", "--no-backup")

    left = python(SNAPSHOT)
    for kind, names in before.items():
        assert left[kind] == names, kind
    assert not [table for table in left["tables"] if "job_engine" in table or table == "tabOrganization"]


def _without_counters(shapes: object) -> str:
    """A migrate may sort indexes in another order; only what there is counts."""
    lines = json.dumps(shapes).replace("\\n", "\n").replace(",\n", "\n").splitlines()
    return "\n".join(sorted(lines))
