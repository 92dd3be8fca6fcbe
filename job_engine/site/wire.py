"""The line to Frappe's Socket.IO server: a channel of the queues' Redis. Nobody waits for it, and nothing fails without it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from typing import Any

import frappe
import redis

from job_engine.site import redis_queue

log = logging.getLogger("job_engine.realtime")

CHANNEL = "events"  # the one that Frappe's server listens on
PAUSE_SECONDS = 5.0  # after Redis could not be reached: a message lost is a message that clients ask for

Message = tuple[str, str, dict[str, Any]]  # room, event, content


class Wire:
    """Made in a thread that has frappe.local; used in any."""

    def __init__(self) -> None:
        self.site: str = frappe.local.site
        self._line = redis_queue.line()
        self._silent_until = 0.0

    @property
    def redis(self) -> redis.Redis:
        return self._line()

    @property
    def is_cut(self) -> bool:
        return time.monotonic() < self._silent_until

    def send(self, messages: Sequence[Message]) -> None:
        """All of them in one round trip."""
        if not messages or self.is_cut:
            return
        try:
            with self.redis.pipeline(transaction=False) as pipeline:
                for room, event, content in messages:
                    message = {"event": event, "message": content, "room": room, "namespace": self.site}
                    pipeline.publish(CHANNEL, json.dumps(message))
                pipeline.execute()
        except redis.exceptions.RedisError as error:
            self.cut(error)

    def cut(self, error: Exception) -> None:
        self._silent_until = time.monotonic() + PAUSE_SECONDS
        log.warning(
            "Redis cannot be reached (%s). Nobody is told of jobs for %s s; the jobs themselves go on",
            error,
            PAUSE_SECONDS,
            extra={"action": "realtime_lost"},
        )
