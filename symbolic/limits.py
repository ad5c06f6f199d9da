"""Limits of time and memory on everything that a thread does, wherever it is; and how much memory this process and its
children hold.

`limited` opens a scope. Where its time or its memory is over, `OutOfTime` or `OutOfMemory` is raised in the thread
that opened it, in one of two ways:

- Loops that know where they are, and waits for solvers and processes, call `look`.
- Everything else (NumPy, Python of ours and of users) is stopped by the watch: a thread that looks at clock and memory
  fifty times a second and raises the exception in the other thread, between two of its bytecodes, as Ctrl-C would be.

Whoever catches the exception has `GRACE` seconds to put away what was found; after that it is raised again.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Final, Literal

from symbolic.errors import Portable, SwizzleError, shown

SHARE: Final = 0.75
"""The part of the memory that is free which a command takes, unless it is told how much."""
MAX_SECONDS: Final = 1_000_000
"""The longest time limit: engines count milliseconds in 32 bits."""
MOST: Final = 1 << 60
"""The most bytes that a limit may be: the system counts them in words of 64 bits, and some slack comes on top."""


def held_bytes() -> int:
    """Return the bytes that this process holds, with what its children hold for themselves."""
    return resident() + sum(map(_private, _children("self")))


def resident() -> int:
    """Return the bytes that this process holds; the most that it ever held, where only that is known."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE
    with suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)
    return 0


_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def _children(process: str) -> list[str]:
    """Return the processes that a process has started, with theirs."""
    found: list[str] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError), open(f"/proc/{process}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    found += [child, *_children(child)]
    return found


def _private(process: str) -> int:
    """Return the bytes that a process shares with no other: a forked one has the pages of its parent at first."""
    with suppress(OSError, ValueError), open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
        lines = [line.split() for line in file if line.startswith("Private_")]
        return sum(int(line[1]) for line in lines) << 10
    return 0


def default_memory() -> int | None:
    """Return how much memory work may hold unless it is told: a share of what is free, and what is held already."""
    free = [number for number in (_available(), _group()) if number is not None]
    return int(SHARE * min(free)) + resident() if free else None


def _available() -> int | None:
    with suppress(OSError, ValueError), open("/proc/meminfo", encoding="ascii") as file:
        sizes: Mapping[str, str] = dict(line.split(":", 1) for line in file)
        return int(sizes["MemAvailable"].split()[0]) << 10
    with suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _group() -> int | None:
    """Return what is left to the control group of this process, such as a container's."""
    for most, now in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            with open(f"/sys/fs/cgroup/{most}", encoding="ascii") as file:
                limit = int(file.read())
            with open(f"/sys/fs/cgroup/{now}", encoding="ascii") as file:
                return max(0, limit - int(file.read()))
    return None


def harden(memory: int) -> None:
    """Refuse this process, from here on, much more than so many bytes: one large array is there before anyone looks.

    For the command line only, as it is the whole process that is refused. The slack is for the watch, which comes first
    wherever memory grows step by step.
    """
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        with open("/proc/self/statm", "rb") as file:
            fields = file.read().split()
        data = int(fields[5]) * _PAGE
        most = data + int(1.25 * max(0, memory - resident())) + (512 << 20)
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def released() -> None:
    """Give memory that was freed back to the system, which counts it as ours until then."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def size_text(size: int) -> str:
    """Return a number of bytes as people write it: 4.0 GiB."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def size_of(size: int | str) -> int:
    """Return the bytes that a size says: a number, or a text such as '4G', '512M' or '1.5GiB'."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)(?:i?b)?", size.strip().lower()) if isinstance(size, str) else None
    bytes_: float = float(found[1]) * 1024 ** " kmgt".index(found[2] or " ") if found else 0
    bytes_ = bytes_ if isinstance(size, str) else size
    if type(bytes_) not in (int, float) or not 1 <= bytes_ <= MOST:
        raise SwizzleError(
            f"a memory limit of {shown(size)}", expected="bytes, more than 0 and at most 2**60", fix="'4G' or '512M'"
        )
    return int(bytes_)


GRACE: Final = 0.5
"""Seconds that are left to put away what was found."""
AGAIN: Final = 0.1
"""Seconds after which the watch raises again what was raised in vain, as in a destructor, which swallows everything."""
LATER: Final = 0.05
"""Seconds that the watch leaves to loops that look for themselves, and can say what they were doing."""
BETWEEN: Final = 0.02
"""Seconds between two looks at the memory."""
PATIENCE: Final = 0.3
IMPORT: Final = 0.8
"""Seconds for which the watch waits for the end of what is better not interrupted, and of an import."""

_UNTOUCHED: Final = frozenset({"__enter__", "__exit__", "__del__", "close", "settle"})
"""Functions that open or close something."""
_LOCKING: Final = frozenset({"threading", "tempfile", "shutil"})
"""Modules that hold locks, or clear away files."""
_IMPORTING: Final = frozenset({"importlib._bootstrap", "importlib._bootstrap_external"})

Clock = Callable[[], float]
Gauge = Callable[[], int]


class Interruption(Portable):
    """A limit was reached. It is no `Exception`, so that nobody who handles errors takes it for one.

    Without a message, as the watch raises it, it has that of the innermost scope that is over.
    """

    def __init__(self, *arguments: object) -> None:
        scope, over = _INNERMOST.get(threading.get_ident()), list[str]()
        while scope is not None:
            over.append(scope.told())
            scope = scope.around
        super().__init__(*(arguments or [said for said in over if said][:1]))


class OutOfTime(Interruption):
    """The deadline has passed; a message, where there is one, says what was being done."""


class OutOfMemory(Interruption):
    """More memory is in use than may be; the message says how much that is."""


class limited:  # used like a function
    """Let what is run inside take until then, and so much memory; limits around it hold as well.

    `until` is a time of `clock`, `memory` bytes that this process and its children may hold; `said` is the message of
    `OutOfTime` where the work has none of its own. Raises what it interrupts
    the work with, `OutOfTime` or `OutOfMemory`, from inside only; a `MemoryError` becomes `OutOfMemory`.
    """

    def __init__(
        self,
        until: float | None,
        memory: int | None = None,
        *,
        said: str = "timeout",
        clock: Clock = time.monotonic,
        gauge: Gauge | None = None,
    ) -> None:
        self.until, self.memory, self.said, self.clock = until, memory, said, clock
        self.gauge = gauge or held_bytes
        self.watched = clock is time.monotonic and gauge is None  # tests have clocks that stand still
        self.thread = threading.get_ident()
        self.around: limited | None = None
        self.frame: FrameType | None = None
        self.open = self.firing = False
        self.fired = False  # at the thread, which may not have noticed
        self._raised: float | None = None  # when the first exception was
        self._last = 0.0  # when the last one was
        self.fired_for: type[Interruption] | None = None  # what the watch saw, which may be over when it is raised
        self._gauged = -1.0
        self._full = False

    def __enter__(self) -> limited:
        self.thread = threading.get_ident()
        self.around = _INNERMOST.get(self.thread)
        self.frame = sys._getframe(1)
        _INNERMOST[self.thread] = self
        self.open = True
        if self.watched and (self.until is not None or self.memory is not None):
            _watch(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        try:
            self._end()
        except Interruption:
            self._end()
            raise
        if isinstance(error, MemoryError) and self.memory is not None:
            raise OutOfMemory(_too_much(self.memory)) from None
        return False

    def _end(self) -> None:
        """Close the scope; from here on nothing is raised for it."""
        self.open = False
        while self.firing:
            time.sleep(0)
        self.frame = None
        if self.watched:
            _WATCHED.discard(self)
            if self.fired:  # taking back what was not raised slows CPython 3.11 down for good, and stops its profilers
                _raise_in(self.thread, None)
        if self.around is None:
            _INNERMOST.pop(self.thread, None)
        else:
            _INNERMOST[self.thread] = self.around

    # -- what is over ---------------------------------------------------------------------------------------

    def over(self) -> type[Interruption] | None:
        """Return what the scope would be interrupted with now."""
        now = self.clock()
        if self.until is not None and now > self.until:
            return OutOfTime
        if self.memory is not None:
            if not 0 <= now - self._gauged < BETWEEN:
                self._gauged, self._full = now, self.gauge() > self.memory
            if self._full:
                return OutOfMemory
        return None

    def due(self) -> type[Interruption] | None:
        """Return what is to be raised now: nothing while what was found is put away."""
        kind = self.over()
        if kind is None or self._raised is None:
            return kind
        now = self.clock()
        return kind if now > self._raised + GRACE and now > self._last + AGAIN else None

    def is_new(self, kind: type[Interruption]) -> bool:
        """Say whether the time is over since a moment only."""
        return kind is OutOfTime and self.until is not None and self.clock() < self.until + LATER

    def told(self) -> str:
        """Note that an exception was raised, and return what is over, '' where nothing is."""
        kind, self.fired_for = self.fired_for or self.over(), None
        if kind is None:
            return ""
        self._last = self.clock()
        self._raised = self._last if self._raised is None else self._raised
        return self.said if kind is OutOfTime else _too_much(self.memory or 0)


_INNERMOST: Final[dict[int, limited]] = {}  # of each thread


def look(where: Callable[[], str] | None = None) -> None:
    """Raise `OutOfTime` or `OutOfMemory` if a limit of this thread is reached; `where` says what was being done."""
    scope = _INNERMOST.get(threading.get_ident())
    while scope is not None:
        kind = scope.due()
        if kind is OutOfTime:
            raise OutOfTime(where()) if where is not None else OutOfTime
        if kind is not None:
            raise kind
        scope = scope.around


def deadline() -> float | None:
    """Return until when (of `time.monotonic`) what is run now may take; None without a limit."""
    found, scope = None, _INNERMOST.get(threading.get_ident())
    while scope is not None:
        if scope.until is not None:
            found = scope.until if found is None else min(found, scope.until)
        scope = scope.around
    return found


# ---- the watch ---------------------------------------------------------------------------------------------------

_WATCHED: Final[set[limited]] = set()


class _Watch(threading.Thread):
    """Looks at every open scope, and raises in their threads."""

    def __init__(self) -> None:
        super().__init__(name="limits", daemon=True)
        self.wanted = threading.Event()
        self.idle = False
        self._waiting: dict[limited, float] = {}

    def run(self) -> None:
        while True:
            scopes = list(_WATCHED)
            if scopes:
                self.idle = False
                self.look(scopes)
                time.sleep(BETWEEN)
                continue
            self._waiting.clear()
            self.wanted.clear()
            self.idle = True
            if not _WATCHED:
                self.wanted.wait()

    def look(self, scopes: list[limited]) -> None:
        """Raise in each thread what is due there, that of the innermost scope first."""
        told: set[int] = set()
        for scope in sorted(scopes, key=_depth, reverse=True):
            kind = scope.due()
            if kind is None or scope.thread in told or scope.is_new(kind) or self._better_wait(scope):
                continue
            told.add(scope.thread)
            scope.firing = True
            if scope.open:
                scope.fired, scope.fired_for = True, kind
                _raise_in(scope.thread, kind)
            scope.firing = False

    def _better_wait(self, scope: limited) -> bool:
        """Say whether the thread is where an exception does harm: in an import, or while it opens or closes."""
        patience = _patience(sys._current_frames().get(scope.thread), scope.frame)
        if not patience:
            self._waiting.pop(scope, None)
            return False
        return time.monotonic() < self._waiting.setdefault(scope, time.monotonic()) + patience


def _patience(frame: FrameType | None, end: FrameType | None) -> float:
    """Return for how many seconds a stack, up to a frame, is better not interrupted."""
    found = 0.0
    while frame is not None and frame is not end:
        module = frame.f_globals.get("__name__")
        if module in _IMPORTING:
            return IMPORT
        if frame.f_code.co_name in _UNTOUCHED or module in _LOCKING:
            found = PATIENCE
        frame = frame.f_back
    return found


def _depth(scope: limited) -> int:
    found = 0
    while scope.around is not None:
        found, scope = found + 1, scope.around
    return found


_WATCH: Final[list[_Watch]] = []


def _watch(scope: limited) -> None:
    """Let the watch, which is started if there is none, look at a scope too."""
    _WATCHED.add(scope)
    if not _WATCH:
        _WATCH.append(_Watch())
        _WATCH[0].start()
    elif _WATCH[0].idle:
        _WATCH[0].wanted.set()


def _forked() -> None:
    """Begin afresh in a forked process, which has one thread and is ended by its parent."""
    _WATCH.clear()
    _WATCHED.clear()
    _INNERMOST.clear()


os.register_at_fork(after_in_child=_forked)


def _raise_in(thread: int, kind: type[Interruption] | None) -> None:
    """Raise an exception in another thread, between two of its bytecodes; None takes back what was not raised yet."""
    what = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)


def _too_much(memory: int) -> str:
    return f"out of memory: more than {size_text(memory)}"
