"""How an idle worker learns that there may be work, as soon as possible and for next to nothing.

A job enqueued in the same process wakes it at once. From elsewhere: SQLite's version counter tells that the file changed,
PostgreSQL notifies; MariaDB has no such thing and is asked at growing intervals.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from job_engine.store.session import Session

_local: dict[str, threading.Condition] = defaultdict(threading.Condition)


def wake_this_process(address: str) -> None:
    """Wake every idle worker of this process that waits for this database."""
    condition = _local[address]
    with condition:
        condition.notify_all()


class Waiter:
    """Waits on the process's own condition only, which `wake_this_process` ends, also for a worker that shall stop."""

    def __init__(self, address: str):
        self._condition = _local[address]

    def wait(self, seconds: float, stopping: threading.Event) -> None:
        with self._condition:
            if not stopping.is_set():
                self._condition.wait(max(0.0, seconds))

    def work_came(self) -> None:
        """The last look found work."""

    def close(self) -> None:
        pass


class BackoffWaiter(Waiter):
    """For a database that cannot call: soon after the last work, later and later when nothing comes."""

    FIRST, LAST = 0.02, 0.5

    def __init__(self, address: str):
        super().__init__(address)
        self._pause = self.FIRST

    def wait(self, seconds: float, stopping: threading.Event) -> None:
        super().wait(min(seconds, self._pause), stopping)
        self._pause = min(self._pause * 1.5, self.LAST)

    def work_came(self) -> None:
        self._pause = self.FIRST


class SQLiteWaiter(Waiter):
    """PRAGMA data_version changes when another connection commits; reading it costs microseconds."""

    EVERY = 0.015

    def __init__(self, address: str, session: Session):
        super().__init__(address)
        self._session = session
        self._version = self._read()

    def wait(self, seconds: float, stopping: threading.Event) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not stopping.is_set():
            with self._condition:
                if self._condition.wait(min(self.EVERY, left)):
                    return
            version = self._read()
            if version != self._version:
                self._version = version
                return

    def close(self) -> None:
        self._session.close()

    def _read(self) -> Any:
        return self._session.value("PRAGMA data_version")


class NotifyWaiter(Waiter):
    """LISTEN on a connection of its own. Notices that came while the worker was busy end the next wait at once."""

    def __init__(self, address: str, session: Session, channel: str):
        super().__init__(address)
        self._session = session
        session.execute(f"LISTEN {channel}")

    SLICE = 0.25  # a signal does not end the wait for the server

    def wait(self, seconds: float, stopping: threading.Event) -> None:
        until = time.monotonic() + seconds
        try:
            while (left := until - time.monotonic()) > 0 and not stopping.is_set():
                for _ in self._session.connection.notifies(timeout=min(self.SLICE, left), stop_after=1):
                    return
        except Exception as error:
            raise self._session.translated(error) from error

    def close(self) -> None:
        self._session.close()
