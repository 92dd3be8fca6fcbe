"""The API over real HTTP, as a client of somebody's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import requests


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, Any]
    text: str

    @property
    def message(self) -> Any:
        return self.body.get("message")

    @property
    def error(self) -> str:
        """What the client is told went wrong."""
        return (self.body.get("error") or {}).get("message") or ""

    @property
    def shown(self) -> str:
        """What Desk would show."""
        said = json.loads(self.body.get("_server_messages") or "[]")
        return " ".join(json.loads(one)["message"] for one in said)


class Client:
    """Calls methods as one user, with an API key; without one, as a guest."""

    def __init__(self, url: str, host: str, token: str | None = None):
        self.url = url
        self.http = requests.Session()
        self.http.headers.update({"Host": host, "Accept": "application/json"})
        if token:
            self.http.headers["Authorization"] = f"token {token}"

    def post(self, method: str, headers: dict[str, str] | None = None, **arguments: Any) -> Answer:
        return self._answer(self.http.post(self._address(method), json=arguments, headers=headers, timeout=60))

    def get(self, method: str, **arguments: Any) -> Answer:
        return self._answer(self.http.get(self._address(method), params=arguments, timeout=60))

    def call(self, method: str, **arguments: Any) -> Any:
        """What a call answers that must succeed."""
        answer = self.post(method, **arguments)
        assert answer.status in (200, 202), answer.text
        return answer.message

    def _address(self, method: str) -> str:
        return f"{self.url}/api/method/job_engine.api.{method}"

    def _answer(self, response: requests.Response) -> Answer:
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return Answer(response.status_code, response.json() if is_json else {}, response.text)
