"""A worker's id: unique for ever, and of some use to whoever reads it."""

from __future__ import annotations

import os
import secrets
import socket


def new_worker_id(pid: int | None = None) -> str:
    """Host, process and a random part: neither a host's name nor a process id is unique for long."""
    return f"{socket.gethostname()[:60]}:{pid or os.getpid()}:{secrets.token_hex(4)}"
