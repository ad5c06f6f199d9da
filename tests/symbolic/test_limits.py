"""Limits hold by looking, and by the watch; no test asks how long anything takes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from symbolic import limits
from symbolic.errors import SwizzleError
from symbolic.limits import (
    AGAIN,
    BETWEEN,
    GRACE,
    Interruption,
    OutOfMemory,
    OutOfTime,
    deadline,
    limited,
    look,
    size_of,
    size_text,
)
from symbolic.solve.interrupt import Interruptible


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def looks(seconds: list[float], clock: Clock) -> list[bool]:
    """Look at some times; say at which of them an exception came."""
    found = []
    for now in seconds:
        clock.now = now
        try:
            look()
        except OutOfTime:
            found.append(True)
        else:
            found.append(False)
    return found


def test_nothing_is_raised_without_limits() -> None:
    """No scope, and one without limits."""
    look()
    assert deadline() is None
    with limited(None):
        look()
        assert deadline() is None


def test_time() -> None:
    """The exception comes as soon as the time is over, once while what was found is put away, and then again."""
    clock = Clock()
    with limited(101.0, clock=clock):
        late = 101.5
        times = [
            100.0,
            101.0,
            late,
            late + GRACE,
            late + GRACE + 0.01,
            late + GRACE + 0.02,
            late + GRACE + 0.02 + AGAIN,
        ]
        assert looks(times, clock) == [False, False, True, False, True, False, True]
    look()


def test_a_message_says_what_was_done() -> None:
    """What the loop says comes before what the scope does."""
    clock = Clock()
    clock.now = 200.0
    with pytest.raises(OutOfTime, match="while writing"), limited(101.0, said="timeout", clock=clock):
        look(lambda: "while writing")
    with pytest.raises(OutOfTime, match="after 1 s"), limited(101.0, said="after 1 s", clock=clock):
        look()


def test_limits_around_hold() -> None:
    """The outer deadline is told once, where both have passed; each that passes later is told by itself."""
    clock = Clock()
    with limited(102.0, clock=clock):
        with limited(101.0, clock=clock):
            assert deadline() == 101.0
            assert looks([101.5], clock) == [True]
        assert deadline() == 102.0
        assert looks([101.6, 102.1, 102.2], clock) == [False, True, False]
        clock.now = 110.0
        with pytest.raises(OutOfTime), limited(200.0, clock=clock):
            look()


def test_memory() -> None:
    """The gauge is read no more often than it need be, and what is freed is free again."""
    clock, sizes = Clock(), [100, 201, 50]

    def gauge() -> int:
        return sizes.pop(0)

    with limited(None, 200, clock=clock, gauge=gauge):
        look()
        look()  # no time has passed
        clock.now += 2 * BETWEEN
        with pytest.raises(OutOfMemory, match="out of memory: more than 0 MiB"):
            look()
        clock.now += 2 * GRACE
        look()
        assert not sizes


def test_a_memory_error_is_a_limit() -> None:
    """What NumPy raises for an array that does not fit says how much may be held."""
    with pytest.raises(OutOfMemory, match=r"more than 2\.0 GiB"), limited(None, 2 << 30, gauge=lambda: 0):
        raise MemoryError("an array")


def test_an_interruption_is_no_error() -> None:
    """Whoever handles errors lets it through."""
    clock = Clock()
    clock.now = 300.0
    with pytest.raises(OutOfTime), limited(101.0, clock=clock):
        try:
            look()
        except Exception:
            pytest.fail("taken for an error")


def endless() -> None:
    while True:
        pass


@pytest.mark.parametrize("_again", range(3))
def test_the_watch_ends_what_never_looks(_again: int) -> None:
    """A loop of Python is stopped, and nothing is raised later."""
    with pytest.raises(OutOfTime, match="timeout"), limited(0.0):
        endless()
    for _ in range(100_000):
        pass


def test_the_watch_ends_what_takes_memory() -> None:
    """As soon as more is held than may be."""
    with pytest.raises(OutOfMemory, match="out of memory"), limited(None, 1):
        endless()


def test_the_watch_says_what_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the memory is free again by the time that the thread notices."""
    held = iter((300, 0))
    monkeypatch.setattr(limits, "held_bytes", lambda: next(held, 0))
    with pytest.raises(OutOfMemory, match="out of memory"), limited(time.monotonic() + 5, 200):
        endless()


def test_the_watch_ends_other_threads() -> None:
    """The exception comes in the thread that has the limit."""
    told: list[type[BaseException]] = []

    def work() -> None:
        try:
            with limited(0.0):
                endless()
        except Interruption as stopped:
            told.append(type(stopped))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert told == [OutOfTime]


def test_the_watch_raises_again_what_is_swallowed() -> None:
    """One that came where everything is swallowed is not the last one."""
    swallowed = 0
    with pytest.raises(OutOfTime), limited(0.0):
        while True:
            try:
                endless()
            except OutOfTime:
                swallowed += 1
                if swallowed == 2:
                    raise
    assert swallowed == 2


class Slow:
    """What is better not interrupted while it closes."""

    def __init__(self) -> None:
        self.closed = False

    def close(self, scope: limited) -> None:
        while scope.over() is None or scope.is_new(OutOfTime):
            pass
        for _ in range(300_000):
            pass
        self.closed = True


def test_the_watch_waits_for_what_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that close something come to their end."""
    monkeypatch.setattr(limits, "PATIENCE", 60.0)
    slow = Slow()
    with pytest.raises(OutOfTime), limited(0.0) as scope:
        slow.close(scope)
        endless()
    assert slow.closed


def test_what_is_closed_for_ever_is_interrupted_at_last() -> None:
    """Patience has an end."""

    class Stuck:
        def close(self) -> None:
            endless()

    with pytest.raises(OutOfTime), limited(0.0):
        Stuck().close()


def test_a_wait_for_a_solver_looks() -> None:
    """The call has returned when the exception comes, and the next one is made."""
    stop, ended = threading.Event(), threading.Event()

    def call() -> None:
        stop.wait(60)
        ended.set()

    running = Interruptible(stop.set)
    with pytest.raises(OutOfTime), limited(0.0, clock=Clock()):
        running.run(call, None)
    assert ended.is_set()
    assert running.run(lambda: 7, 60) == (7, False)


def test_sizes() -> None:
    """Bytes and texts, and what is neither."""
    assert [size_of(each) for each in (5, "1024", "4G", "512M", "1.5 GiB", "2k", "1tb")] == [
        5, 1024, 4 << 30, 512 << 20, 3 << 29, 2048, 1 << 40,
    ]  # fmt: skip
    for wrong in ("", "4X", 0, "-1G", "many"):
        with pytest.raises(SwizzleError, match="a memory limit of"):
            size_of(wrong)
    assert (size_text(3 << 29), size_text(300 << 20)) == ("1.5 GiB", "300 MiB")


def test_what_is_held_is_about_what_is_made() -> None:
    """An array that is written counts; the default leaves room. In a process of its own, which is small."""
    text = (
        "from symbolic.limits import default_memory, held_bytes, resident\n"
        "before = resident()\n"
        "array = bytearray(b'x') * (64 << 20)\n"
        "assert resident() - before > 32 << 20 and held_bytes() >= resident() - (32 << 20)\n"
        "most = default_memory()\n"
        "assert most is not None and most > resident()\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_a_scope_that_ends_in_time_leaves_the_thread_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython 3.11 stays slow once an exception is taken back that was never to be raised, and its profilers hang."""
    raised: list[object] = []
    monkeypatch.setattr(limits, "_raise_in", lambda thread, kind: raised.append(kind))
    with limited(time.monotonic() + 60):
        pass
    assert not raised
