"""Ctrl-C for tests: pressed from another thread, and kept from reaching the test runner."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c(after: float = 0.0, once: threading.Event | None = None, again: float = 2.0) -> Iterator[None]:
    """Press Ctrl-C some seconds after an event (None: the block's begin), and again until the block has ended."""
    ended = threading.Event()

    def handler(*_: object) -> None:
        if not ended.is_set():
            raise KeyboardInterrupt

    def press() -> None:
        if once is not None:
            once.wait()
        delay = after
        while not ended.wait(delay):
            os.kill(os.getpid(), signal.SIGINT)
            delay = again

    thread = threading.Thread(target=press, daemon=True)
    before = signal.signal(signal.SIGINT, handler)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        if once is not None:
            once.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
