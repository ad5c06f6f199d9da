"""A blocking call ends by its result, by the deadline or by Ctrl-C, and never runs on unseen."""

import gc
import os
import threading
import time
import warnings

import pytest

from symbolic.solve.interrupt import Interruptible, gc_paused
from tests.ctrl_c import ctrl_c


def stoppable():
    """Return an Interruptible, a call that runs until it is told to stop, and the events that it began and ended."""
    stop, began, ended = threading.Event(), threading.Event(), threading.Event()

    def call():
        began.set()
        stop.wait(60)
        time.sleep(0.05)  # it does not obey at once
        ended.set()
        return "stopped"

    return Interruptible(stop.set), call, began, ended


def test_result_in_time():
    """A call that returns is not late."""
    assert Interruptible(lambda: None).run(lambda: 42, None) == (42, False)


def test_a_solver_that_does_not_stop_cannot_keep_the_process():
    """Python waits at its end for threads that are no daemons."""
    assert Interruptible(lambda: None).run(lambda: threading.current_thread().daemon, None) == (True, False)


def test_deadline():
    """A call that is late is stopped, and has returned when `run` does."""
    running, call, _, ended = stoppable()
    assert running.run(call, 0.05) == ("stopped", True)
    assert ended.is_set()


def test_ctrl_c():
    """When KeyboardInterrupt reaches the caller, the call has returned: nothing runs on in the background."""
    for _ in range(10):
        running, call, began, ended = stoppable()
        with pytest.raises(KeyboardInterrupt), ctrl_c(once=began):
            running.run(call, 60)
        assert ended.is_set()


def test_errors_are_handed_over():
    """What the call raises is raised here."""
    with pytest.raises(ZeroDivisionError):
        Interruptible(lambda: None).run(lambda: 1 // 0, None)


def test_threads_are_kept():
    """One call after the other is made by one thread, also after one that was stopped or failed; two at once by two."""
    who = {Interruptible(lambda: None).run(threading.get_ident, None)[0] for _ in range(20)}
    running, call, _, _ = stoppable()
    running.run(call, 0.01)
    test_errors_are_handed_over()
    who |= {Interruptible(lambda: None).run(threading.get_ident, None)[0]}
    assert len(who) == 1
    inner = Interruptible(lambda: None)
    both = Interruptible(lambda: None).run(lambda: (threading.get_ident(), inner.run(threading.get_ident, None)[0]), 60)
    assert len(set(both[0])) == 2


def test_a_forked_process_has_threads_of_its_own():
    """Those of its parent are not there."""
    Interruptible(lambda: None).run(lambda: 1, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os._exit(Interruptible(lambda: None).run(lambda: 42, 30)[0])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42


def test_ctrl_c_at_any_moment():
    """Whenever it comes, nothing runs on, and the next call is made."""
    gc.collect()  # another test's solver, which is freed just then, would swallow the Ctrl-C
    with gc_paused():
        for after in range(12):
            for _ in range(4):
                press_at(after / 20_000)


def press_at(after):
    """Press Ctrl-C while calls are made."""
    running, calls = Interruptible(lambda: None), list[int]()
    began = threading.Event()
    with pytest.raises(KeyboardInterrupt), ctrl_c(after=after, once=began):
        began.set()
        while True:
            running.run(lambda: calls.append(1), None)
    before = len(calls)
    time.sleep(0.002)
    assert len(calls) == before
    assert running.run(lambda: 7, 5) == (7, False)


def test_gc_is_back_afterwards():
    """The collector is off inside, also when nested, and on again after an error."""
    with pytest.raises(ValueError, match="stop"), gc_paused():
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise ValueError("stop")
    assert gc.isenabled()
