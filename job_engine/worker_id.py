"""A worker's id: unique for ever, and of some use to whoever reads it."""

from __future__ import annotations

import os
import secrets
import socket


def new_worker_id() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"
