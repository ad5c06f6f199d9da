"""Run a solver's blocking call so that Ctrl-C and a deadline reach it.

Solvers install signal handlers of their own or none at all. So the call runs in a worker thread, and this thread
waits: Python's own handler raises KeyboardInterrupt in the wait, and the worker is told to stop.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

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


class Interruptible(Generic[T]):
    """One call at a time, ended by its result, by a deadline or by Ctrl-C.

    `stop` asks the running call to return soon; it is called again and again until the call has returned.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        # An event tells that the call is over. Thread.join does not: interrupted by Ctrl-C, it takes the thread for
        # finished (CPython up to 3.12).
        self._over = threading.Event()
        self._over.set()

    def run(self, call: Callable[[], T], timeout: float | None) -> tuple[T, bool]:
        """Return what `call` returned and whether it was stopped at the deadline; raise what it raised."""
        outcome: list[T] = []
        failure: list[BaseException] = []
        over = threading.Event()

        def work() -> None:
            try:
                outcome.append(call())
            except BaseException as error:  # handed over to the waiting thread
                failure.append(error)
            finally:
                over.set()

        self.settle()
        with gc_paused():
            worker = threading.Thread(target=work, name="solver", daemon=True)
            self._over = over
            try:
                worker.start()
                late = not over.wait(timeout)
            finally:
                if worker.ident is None:
                    over.set()
                self.settle()
            worker.join()
        if failure:
            raise failure[0]
        return outcome[0], late

    def settle(self) -> None:
        """Stop the running call, if there is one, and wait until it has returned."""
        while not self._over.is_set():
            self._stop()
            self._over.wait(0.01)
