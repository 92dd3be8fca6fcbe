"""Clients of the site's real Socket.IO server: `socket_client.js` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from frappe.realtime import emit_via_redis

SCRIPT = Path(__file__).with_name("socket_client.js")
PROBE = "job_engine_test_probe"


class SocketClient:
    def __init__(self, bench: Path, site: str, headers: dict[str, str], documents: Sequence[tuple[str, str]]):
        details = {
            "url": os.environ["JOB_ENGINE_SITE_SOCKETIO_URL"],
            "site": site,
            "origin": os.environ["JOB_ENGINE_SITE_URL"],
            "headers": headers,
            "documents": documents,
        }
        self.heard: list[dict[str, Any]] = []
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            ["node", str(SCRIPT), json.dumps(details)],
            env={**os.environ, "NODE_PATH": str(bench / "apps" / "frappe" / "node_modules")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with self._news:
                self.heard.append(json.loads(line))
                self._news.notify_all()

    def messages(self, *events: str) -> list[dict[str, Any]]:
        return [one["message"] for one in self.heard if one["event"] in events]

    @property
    def about_jobs(self) -> list[dict[str, Any]]:
        return self.messages("job_progress", "job_status_changed")

    def wait_for(self, event: str, seconds: float = 20.0, **wanted: Any) -> dict[str, Any]:
        """The first such event, as it was heard."""

        def found() -> dict[str, Any] | None:
            for one in self.heard:
                content = one["message"] if isinstance(one["message"], dict) else {}
                if one["event"] == event and wanted.items() <= content.items():
                    return one
            return None

        with self._news:
            assert self._news.wait_for(found, seconds), f"no {event} {wanted} within {seconds} s, but {self.heard}"
            return found() or {}

    def wait_until_in(self, room: str, seconds: float = 20.0) -> None:
        """Wait until the client is in a room: it hears what is said there."""
        until = time.monotonic() + seconds
        while room not in (one.get("room") for one in self.messages(PROBE)):
            assert time.monotonic() < until, f"not in {room} within {seconds} s; heard {self.heard}"
            emit_via_redis(PROBE, {"room": room}, room)
            with self._news:
                self._news.wait(0.1)

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(10)
