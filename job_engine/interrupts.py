"""Raise an exception in the thread that runs a handler.

In a process's main thread by a signal, which also ends a blocking system call. Elsewhere, and where the application uses the
signal itself, by CPython's own means, which wait for the next instruction of Python code.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from job_engine.core.errors import Interrupt

_SIGNAL = signal.SIGALRM


class Interrupter:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None  # where a handler runs now
        self._token: object = None  # whose handler it is
        self._by_signal = False
        self._pending: Interrupt | None = None

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Be prepared to interrupt handlers of this thread. Restores the application's signal handler."""
        by_signal = threading.current_thread() is threading.main_thread() and signal.getsignal(_SIGNAL) in (
            signal.SIG_DFL,
            signal.SIG_IGN,
            self._on_signal,
        )
        previous = signal.signal(_SIGNAL, self._on_signal) if by_signal else None
        self._by_signal = by_signal
        try:
            yield
        finally:
            if by_signal:
                signal.signal(_SIGNAL, previous)

    def enter(self, token: object) -> None:
        """A handler starts in this thread; `token` says whose."""
        with self._lock:
            self._pending = None
            self._token = token
            self._thread = threading.get_ident()

    def leave(self) -> None:
        """It is over: nothing may be raised in this thread any more. Costs nothing to say twice."""
        if self._thread is None:
            return
        with self._lock:
            if self._pending is not None and not self._by_signal and self._thread is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), None)
            self._thread = self._token = self._pending = None

    def interrupt(self, token: object, interruption: Interrupt, first: Callable[[], None] = lambda: None) -> bool:
        """Raise in the handler of `token`. False when that one is over: the next one must not be hit in its place.

        `first` is called before, and only if it is not over: the handler cannot be left while it is.
        """
        with self._lock:
            if self._thread is None or self._token is not token:
                return False
            first()
            self._pending = interruption
            if self._by_signal:
                signal.pthread_kill(self._thread, _SIGNAL)
            else:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread), ctypes.py_object(type(interruption))
                )
            return True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        pending, self._pending = self._pending, None
        if pending is not None and self._thread == threading.get_ident():
            raise pending
