"""The guard's own process. It imports nothing but the smallest of the standard library: every runner on a bench starts one.

Standard input is a lifeline: the worker's details come first, a farewell comes when it leaves in order. When the line ends
without one, the worker has died, and the command that settles is told so.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct
import sys
import time

LOOK_SECONDS = 0.25
SLACK_SECONDS = 0.5


class Guard:
    def __init__(
        self,
        pid: str,
        descriptor: str,
        grace_seconds: str,
        layout: str,
        condemned: str,
        condemned_at: str,
        reasons: str,
        *settle: str,
    ):
        self.pid = int(pid)
        self.memory = mmap.mmap(int(descriptor), 0)
        self.grace_seconds = float(grace_seconds)
        self.layout = struct.Struct(layout)
        self.condemned = struct.Struct(condemned)
        self.condemned_at = int(condemned_at)
        self.reasons = reasons.split(",")
        self.settle = settle
        self.killed_for = ("", 0)  # which job, and which attempt of it

    def run(self) -> None:
        details = self.read_line()
        why = self.watch() if details else None
        if why is not None:
            self.hand_over(details, why)

    def watch(self) -> str | None:
        """Wait for the worker's end. Returns what it was killed for, "" when it died otherwise, None when it said farewell."""
        why = ""
        while True:
            is_dead = os.getppid() != self.pid  # though a fork of its handler may keep the line open
            if select.select([0], [], [], 0 if is_dead else LOOK_SECONDS)[0]:
                return None if os.read(0, 64) else why
            if is_dead:
                return why
            seen = self.look()
            verdict = self.verdict(seen, time.monotonic())
            if verdict and not why:
                why, self.killed_for = verdict, seen[:2]
                os.kill(self.pid, signal.SIGKILL)

    def verdict(self, seen: tuple[str, int, float, float, str], now: float) -> str | None:
        """Why the worker must be killed now, if it must."""
        _, _, deadline, kill_at, why = seen
        if kill_at and why and now > kill_at + SLACK_SECONDS:
            return why
        # A handler that keeps the interpreter's lock also keeps the worker's own keeper from judging it.
        if deadline and now > deadline + self.grace_seconds + SLACK_SECONDS:
            return self.reasons[0]
        return None

    def look(self) -> tuple[str, int, float, float, str]:
        """What the worker does: name (empty: nothing), attempt, deadline, when to kill it and why."""
        while True:  # a write may be half done
            seen = self.memory[:]
            if seen == self.memory[:]:
                break
        attempt, deadline, name = self.layout.unpack_from(seen, 0)
        kill_at, why, condemned_attempt, condemned = self.condemned.unpack_from(seen, self.condemned_at)
        if (condemned, condemned_attempt) != (name[-26:], attempt):  # that was an earlier one, and it has ended
            kill_at, why = 0.0, 0
        return name.decode(), attempt, deadline if name else 0.0, kill_at, self.reasons[why - 1] if why else ""

    def hand_over(self, details: bytes, why: str) -> None:
        import subprocess

        name, attempt, *_ = self.look()
        if why and (name, attempt) != self.killed_for:  # it had just begun another job, which has done nothing wrong
            name, attempt, why = "", 0, ""
        subprocess.run(self.settle, input=details + f"{name}\n{attempt}\n{why}\n".encode(), check=False)

    def read_line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(0, 1)
            if not byte:
                return b""
            line += byte
        return line


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with its worker, not with a terminal
    Guard(*sys.argv[1:]).run()
