"""A peer's worker process: `python -m benchmarks.peers.worker PEER ARGUMENT...` calls `work(*arguments)` of that peer's module.

The address of the storage comes by the environment: it may contain a password, and everybody can read arguments.

Not `python -m` of the peer itself: its module would then be `__main__`, and the jobs carry the module's real name.
"""

from __future__ import annotations

import importlib
import os
import sys

_ADDRESS = "JOB_ENGINE_BENCHMARK_ADDRESS"


def environment(address: str) -> dict[str, str]:
    """What tells the worker process where its storage is."""
    return {_ADDRESS: address}


def address() -> str:
    """Where the storage is, in the worker process."""
    return os.environ[_ADDRESS]


def command(peer: str, *arguments: str) -> list[str]:
    """The command that runs `work(*arguments)` of the module named `peer`."""
    return [sys.executable, "-m", __name__, peer, *arguments]


if __name__ == "__main__":
    importlib.import_module(sys.argv[1]).work(*sys.argv[2:])
