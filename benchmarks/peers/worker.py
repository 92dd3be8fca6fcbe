"""A peer's worker process: `python -m benchmarks.peers.worker PEER ARGUMENT...` calls `work(*arguments)` of that peer's module.

Not `python -m` of the peer itself: its module would then be `__main__`, and the jobs carry the module's real name.
"""

from __future__ import annotations

import importlib
import sys


def command(peer: str, *arguments: str) -> list[str]:
    """The command that runs `work(*arguments)` of the module named `peer`."""
    return [sys.executable, "-m", __name__, peer, *arguments]


if __name__ == "__main__":
    importlib.import_module(sys.argv[1]).work(*sys.argv[2:])
