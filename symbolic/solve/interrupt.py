"""Run a solver's blocking call so that Ctrl-C and a deadline reach it.

Solvers install signal handlers of their own or none at all. So the call runs in a worker thread, and this thread
waits: Python's own handler raises KeyboardInterrupt in the wait, and the worker is told to stop. A wait looks at the
limits of its thread (`symbolic.limits`) again and again, and ends in the same way where one is reached.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from symbolic.limits import look

BETWEEN: Final = 0.05
"""Seconds between two looks at the limits."""

T = TypeVar("T")


@contextmanager
def gc_paused() -> Iterator[None]:
    """Keep the cyclic collector out: it is slow beside millions of formulas, and it may drop a solver's terms from
    another thread while the solver runs."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Worker(threading.Thread):
    """A thread that makes one call after the other, as starting one takes longer than a small question."""

    def __init__(self) -> None:
        super().__init__(name="solver", daemon=True)  # Python does not wait for it at its end
        self._call: Callable[[], None] | None = None
        self._wanted = threading.Lock()
        self._wanted.acquire()
        self.start()

    def make(self, call: Callable[[], None]) -> None:
        """Begin a call; the one before has returned."""
        self._call = call
        self._wanted.release()

    def run(self) -> None:
        """Wait for calls."""
        while True:
            self._wanted.acquire()
            call, self._call = self._call, None
            assert call is not None
            call()
            del call


_IDLE: list[_Worker] = []
os.register_at_fork(after_in_child=_IDLE.clear)  # a forked process has one thread


class Interruptible(Generic[T]):
    """One call at a time, ended by its result, by a deadline or by Ctrl-C.

    `stop` asks the running call to return soon; it is called again and again until the call has returned.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._over = threading.Event()
        self._over.set()

    def run(self, call: Callable[[], T], timeout: float | None) -> tuple[T, bool]:
        """Return what `call` returned and whether it was stopped at the deadline; raise what it raised."""
        outcome: list[T] = []
        failure: list[BaseException] = []
        over, gate = threading.Event(), threading.Lock()
        begun = given_up = False

        def work() -> None:
            nonlocal begun
            try:
                with gate:
                    begun = True
                if not given_up:
                    outcome.append(call())
            except BaseException as error:  # handed over to the waiting thread
                failure.append(error)
            finally:
                over.set()

        self.settle()
        with gc_paused():
            worker = _IDLE.pop() if _IDLE else _Worker()
            try:
                self._over = over
                worker.make(work)
                late = not _returned(over, timeout)
            except BaseException:
                with gate:
                    given_up = not begun
                if given_up:  # Ctrl-C came before the worker was told
                    over.set()
                raise
            finally:
                self.settle()
            _IDLE.append(worker)
        if failure:
            raise failure[0]
        return outcome[0], late

    def settle(self) -> None:
        """Stop the running call, if there is one, and wait until it has returned."""
        while not self._over.is_set():
            self._stop()
            self._over.wait(0.01)


def _returned(over: threading.Event, timeout: float | None) -> bool:
    """Wait for a call to return, for so long at most; a limit of this thread ends the wait by its exception."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        left = BETWEEN if until is None else min(BETWEEN, until - time.monotonic())
        if over.wait(max(0.0, left)):
            return True
        if left < BETWEEN:
            return False
        look()
