"""The frappe-js-sdk sample of docs/clients.md as it stands there: installed from npm, bundled, and run in a real browser."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import frappe
import pytest
from frappe.utils.password import update_password

from job_engine.tests.site.bench_workers import QUEUE, BenchWorkers

ROOT = Path(__file__).parents[3]
PAGE = """<!doctype html>
<script>
  const seen = [];
  const failures = [];
  const render = (job) => seen.push({ ...job });
  const failed = (reason) => failures.push(reason.message ?? JSON.stringify(reason));
  addEventListener("unhandledrejection", (event) => failed(event.reason));
  addEventListener("error", (event) => failed(event.error));
</script>
<script type="module" src="bundle.js"></script>
"""


def sample() -> str:
    """The code under the heading frappe-js-sdk."""
    text = (ROOT / "docs" / "clients.md").read_text()
    found = re.search(r"### frappe-js-sdk\n.*?```js\n(.*?)```", text, re.DOTALL)
    assert found, "docs/clients.md has no sample for frappe-js-sdk"
    return found[1]


@pytest.fixture(scope="module")
def packages(bench: Path) -> Path:
    """frappe-js-sdk, in a folder beside the bench, installed once. The bench has the others."""
    folder = bench.parent / "frappe-js-sdk"
    if not (folder / "node_modules" / "frappe-js-sdk").is_dir():
        folder.mkdir(exist_ok=True)
        npm = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), "frappe-js-sdk@1"]
        done = shutil.which("npm") and subprocess.run(npm, capture_output=True, text=True, timeout=120, check=False)
        if not done or done.returncode:
            missing = (
                f"frappe-js-sdk cannot be installed with npm: {done.stderr.strip() if done else 'there is no npm'}"
            )
            (pytest.fail if os.environ.get("JOB_ENGINE_REQUIRE_SERVICES") else pytest.skip)(missing)
    return folder / "node_modules"


@pytest.fixture
def page_url(bench: Path, packages: Path, tmp_path: Path) -> Iterator[str]:
    """A page of the site with the sample on it. Only addresses and the job's type are other than in the docs."""
    site_url, socketio_url = os.environ["JOB_ENGINE_SITE_URL"], os.environ["JOB_ENGINE_SITE_SOCKETIO_URL"]
    code = sample()
    for written, meant in (
        ('"https://your.site"', f'"{site_url}"'),
        ("`${url}/your.site`", f'"{socketio_url}/{urlsplit(site_url).hostname}"'),
        ('job_type: "pdf_generation"', f'queue: "{QUEUE}", job_type: "test.sleep"'),
        ('{ template: "monthly" }', "{ seconds: 2.0, steps: 8 }"),
    ):
        assert written in code, f"the sample no longer has {written}"
        code = code.replace(written, meant)
    (tmp_path / "page.js").write_text(code)
    (tmp_path / "index.html").write_text(PAGE)
    shutil.copy(ROOT / "examples" / "web_client" / "watch_job.js", tmp_path)
    frappes = bench / "apps" / "frappe" / "node_modules"
    subprocess.run(
        [frappes / ".bin" / "esbuild", "page.js", "--bundle", "--format=esm", "--target=es2022", "--outfile=bundle.js"],
        cwd=tmp_path,
        env={**os.environ, "NODE_PATH": f"{packages}:{frappes}"},
        check=True,
        timeout=60,
    )
    link = bench / "sites" / "assets" / f"job-engine-sdk-{secrets.token_hex(4)}"
    link.symlink_to(tmp_path)
    yield f"{site_url}/assets/{link.name}/index.html"
    link.unlink()


def test_the_sample_submits_a_job_and_hears_of_it(
    workers: BenchWorkers, person: Callable[..., str], browser: Any, page_url: str
):
    user, password = person("Job Manager", organizations=(workers.organization,)), secrets.token_hex(16)
    update_password(user, password)
    frappe.db.commit()
    site_url = os.environ["JOB_ENGINE_SITE_URL"]
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(20_000)
    assert page.request.post(f"{site_url}/api/method/login", form={"usr": user, "pwd": password}).ok
    workers.start()

    page.goto(f"{site_url}/me")  # from now on Frappe asks this session for its token
    token = page.evaluate("frappe.csrf_token")
    page.add_init_script(f"window.csrf_token = '{token}'")  # as the docs say a page has it
    page.goto(page_url)

    page.wait_for_function("failures.length || seen.some((job) => job.status === 'Completed' && job.ended_at)")
    assert page.evaluate("failures") == []
    seen = page.evaluate("seen")
    context.close()
    assert seen[-1]["progress"] == 100, "and asked for the rest when it had ended"
    (job,) = frappe.get_all("Background Job", {"organization": workers.organization}, ["name", "user"])
    assert (job.name, job.user) == (seen[-1]["name"], user)
    assert [one["status"] for one in seen if one["status"] == "Running"], "the socket told of it while it ran"
    assert len({one["progress"] for one in seen}) > 3
