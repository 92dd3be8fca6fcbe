"""A throw-away site on the bench, with a queue that only the benchmark's worker serves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import frappe

from job_engine.site import settings

SITE = "job-engine-benchmark.localhost"
QUEUE = "benchmark"
_NO_LIMIT = 10_000_000


def worker() -> list[str]:
    """As an operator would start it: `bench worker --queue benchmark`."""
    return [sys.executable, "-m", "frappe.utils.bench_helper", "frappe", "worker", "--queue", QUEUE]


@contextmanager
def connected(folder: Path, template: str, keep: bool) -> Iterator[None]:
    """Be in the site, made now unless it was kept the last time; `template` is a site on the same database server."""
    os.chdir(folder / "sites")
    with _queue_of_its_own(), _site(template, keep):
        frappe.init(site=SITE)
        frappe.connect()
        try:
            _prepare()
            yield
        finally:
            frappe.destroy()


@contextmanager
def _queue_of_its_own() -> Iterator[None]:
    """`bench worker` knows the queues of the bench's own configuration only."""
    file = Path("common_site_config.json")
    _change(file, lambda config: config.setdefault("workers", {}).update({QUEUE: {"timeout": 300}}))
    try:
        yield
    finally:
        _change(file, _without_queue)


def _without_queue(config: dict[str, Any]) -> None:
    config["workers"].pop(QUEUE, None)
    if not config["workers"]:
        del config["workers"]


def _change(file: Path, change: Any) -> None:
    config = json.loads(file.read_text())
    change(config)
    written = file.with_suffix(".new")
    written.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    os.replace(written, file)


@contextmanager
def _site(template: str, keep: bool) -> Iterator[None]:
    if not Path(SITE).exists():
        _bench("new-site", SITE, "--admin-password", os.urandom(12).hex(), *_place(template), *_login())
        _bench("--site", SITE, "install-app", "job_engine")
        _bench("--site", SITE, "enable-scheduler")
    else:
        _change(Path(SITE, "site_config.json"), lambda config: config.update(_address(template)))
        _bench("--site", SITE, "migrate")
    try:
        yield
    finally:
        if not keep:
            _bench("drop-site", SITE, "--no-backup", "--force", *_login())


def _place(template: str) -> list[str]:
    address = _address(template)
    return ["--db-host", address["db_host"], "--db-port", str(address["db_port"])]


def _address(template: str) -> dict[str, Any]:
    """Where the template's database is: its port may be another than the last time."""
    config = json.loads(Path(template, "site_config.json").read_text())
    return {"db_host": config["db_host"], "db_port": config["db_port"]}


def _login() -> list[str]:
    """Who may create and drop databases there: `scripts/site env` says so."""
    account, password = os.environ["JOB_ENGINE_SITE_DB_ACCOUNT"], os.environ["JOB_ENGINE_SITE_DB_PASSWORD"]
    return ["--db-root-username", account, "--db-root-password", password]


def _bench(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "frappe.utils.bench_helper", "frappe", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"bench {words[0]} failed:\n{done.stdout[-3000:]}")


def _prepare() -> None:
    """One organization may have as many waiting jobs as a benchmark enqueues."""
    frappe.db.set_single_value("Job Engine Settings", "max_waiting_jobs", _NO_LIMIT)
    frappe.db.commit()
    settings.forget()


def organization(name: str) -> str:
    if not frappe.db.exists("Organization", name):
        frappe.get_doc(doctype="Organization", organization_name=name).insert()
        frappe.db.commit()
    return name
