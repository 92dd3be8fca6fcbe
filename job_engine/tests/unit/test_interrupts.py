"""An interruption hits the handler it is meant for, or nobody."""

from __future__ import annotations

import signal
import threading

import pytest

from job_engine.core.errors import JobCanceled, JobTimeout
from job_engine.interrupts import Interrupter


def test_an_interruption_is_raised_in_the_handler_it_is_meant_for() -> None:
    interrupter, mine = Interrupter(), object()
    with interrupter.ready():
        interrupter.enter(mine)
        with pytest.raises(JobTimeout):
            assert interrupter.interrupt(mine, JobTimeout())
            signal.pause()  # the signal has come, or ends this
        interrupter.leave()


def test_the_next_handler_is_not_hit_by_what_was_meant_for_the_last_one() -> None:
    interrupter, last, current = Interrupter(), object(), object()
    with interrupter.ready():
        interrupter.enter(last)
        interrupter.leave()
        interrupter.enter(current)
        assert not interrupter.interrupt(last, JobCanceled())
        interrupter.leave()


def test_nothing_is_raised_between_two_handlers() -> None:
    interrupter, mine = Interrupter(), object()
    with interrupter.ready():
        interrupter.enter(mine)
        interrupter.leave()
        assert not interrupter.interrupt(mine, JobCanceled())


def test_outside_the_main_thread_a_loop_of_python_code_is_interrupted() -> None:
    interrupter, mine = Interrupter(), object()
    running, interrupted = threading.Event(), threading.Event()

    def handler() -> None:
        with interrupter.ready():
            interrupter.enter(mine)
            running.set()
            try:
                while True:
                    pass
            except JobTimeout:
                interrupted.set()
            finally:
                interrupter.leave()

    thread = threading.Thread(target=handler)
    thread.start()
    assert running.wait(10)
    assert interrupter.interrupt(mine, JobTimeout())
    assert interrupted.wait(10)
    thread.join(10)


def test_the_applications_own_signal_handler_is_put_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with Interrupter().ready():
        pass
    assert signal.getsignal(signal.SIGALRM) == before
