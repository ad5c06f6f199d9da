"""Compilers and compiled programs: processes that end with this one (`keeper.py`) and in time.

Within `confined()` a process runs in a sandbox (`sandbox.py`) or is not started; so a stranger's text is compiled and
run.

What outlives this process by a moment: it ends what still runs, and removes the folder of all scratch files.

A keeper, a shell in a session of its own, waits for the end of a pipe that only this process holds open. Whatever ends
this process, SIGKILL included, the keeper then kills what still runs and removes the folder. Who kills the keeper as
well, at once, leaves the folder behind.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from msgspec import Struct

from cuda_out.compile.sandbox import Sandbox, no_sandbox
from symbolic.errors import SwizzleError
from symbolic.limits import look

_KEEPER: Final = """\
trap '' HUP INT QUIT TERM; running=
while IFS= read -r line; do running=$line; done
for group in $running; do kill -KILL "-$group"; done
rm -rf -- "$1" || { sleep 0.1; rm -rf -- "$1"; }
"""


def process_folder() -> Path:
    """Return the folder of this process's scratch files, which is gone when the process is."""
    return keeper().folder


@contextlib.contextmanager
def scratch_folder(within: Path | None = None) -> Iterator[Path]:
    """Make a folder for one piece of work, and remove it when that is done."""
    with tempfile.TemporaryDirectory(dir=within or process_folder(), prefix="scratch-") as scratch:
        yield Path(scratch)


class Keeper:
    """The process that outlives this one by a moment."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._lock = threading.Lock()
        self._owner = os.getpid()
        reader, self._pipe = os.pipe()
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self.folder = Path(tempfile.gettempdir(), f"swizzle-{secrets.token_hex(8)}")
            with contextlib.suppress(OSError):  # without a shell, only an orderly end removes the folder
                self._process = subprocess.Popen(
                    ["/bin/sh", "-c", _KEEPER, "keeper", str(self.folder)],
                    stdin=reader,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    start_new_session=True,
                )
            self.folder.mkdir(mode=0o700)
        except OSError as error:
            self._let_end()
            raise SwizzleError(
                f"no folder for scratch files: {error.strerror or error}",
                expected="a folder that can be written, with room in it",
                fix="name one in TMPDIR",
            ) from None
        finally:
            os.close(reader)
        atexit.register(self.end)

    def hold(self, group: int) -> None:
        self._tell(self._running | {group})

    def let_go(self, group: int) -> None:
        self._tell(self._running - {group})

    def _tell(self, running: set[int]) -> None:
        with self._lock:
            self._running = running
            with contextlib.suppress(OSError):  # somebody killed it
                os.write(self._pipe, (" ".join(map(str, running)) + "\n").encode())

    def end(self) -> None:
        """Remove the folder: of the process that made it, not of one that was forked from it."""
        if os.getpid() != self._owner:
            return
        self._let_end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _let_end(self) -> None:
        os.close(self._pipe)
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)

    def forget(self) -> None:
        """In a forked process: the pipe is to end with the parent."""
        os.close(self._pipe)


_KEPT: list[Keeper] = []
_MAKING = threading.Lock()


def keeper() -> Keeper:
    """Return the keeper of this process."""
    with _MAKING:
        if not _KEPT:
            _KEPT.append(Keeper())
        return _KEPT[0]


def _forked() -> None:
    while _KEPT:
        _KEPT.pop().forget()


os.register_at_fork(after_in_child=_forked)


BETWEEN: Final = 0.05
"""Seconds between two looks at the limits of this thread."""
MOST_OUTPUT: Final = 1 << 30
"""As many bytes a process may say."""
_ENVIRONMENT: Final = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "CUDA_HOME", "CUDA_PATH", "CPATH", "LIBRARY_PATH")
"""What a process in a sandbox is told of this one's environment, in which there may be secrets."""
_confined: ContextVar[bool] = ContextVar("_confined", default=False)


class Done(Struct, frozen=True):
    """How a process ended: its status (negative: the signal that killed it), and what it said."""

    status: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode(errors="replace")

    @property
    def log(self) -> str:
        return self.text + self.err.decode(errors="replace")


class TooLong(Exception):
    """A process that still ran at its time limit, or said more than anybody reads; it is gone."""


@contextlib.contextmanager
def confined(wanted: bool = True) -> Iterator[None]:
    """Start every process of this block in a sandbox, where `wanted`."""
    before = _confined.set(wanted or _confined.get())
    try:
        yield
    finally:
        _confined.reset(before)


def refused() -> str:
    """Return why no process may be started now, '' where one may: a stranger's text needs a sandbox."""
    return no_sandbox() if _confined.get() else ""


def run_child(
    command: Sequence[str],
    *,
    seconds: float,
    given: bytes = b"",
    folder: Path | None = None,
    reads: Sequence[Path] = (),
    starts: bool = True,
) -> Done:
    """Run a program to its end, in `folder` if there is one, which a sandbox lets it change; it lets it read `reads`.

    `starts` says whether it starts processes of its own, as compilers do. Raises TooLong after `seconds`, and
    SwizzleError for what cannot be started; a limit of this thread (`symbolic.limits`) ends it as well.
    """
    if why := refused():
        raise SwizzleError(
            f"{Path(command[0]).name} is not started: {why}", expected="a sandbox for a stranger's text",
            fix="read the text; --trust then runs it as it is",
        )  # fmt: skip
    enter = Sandbox(Path(command[0]), folder, reads, starts).enter if _confined.get() else None
    known = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ} if enter else os.environ
    environment = {**known, **({} if folder is None else {"TMPDIR": str(folder)})}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: only system calls follow
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environment,
                bufsize=0,
                start_new_session=True,
                preexec_fn=enter,
            )
    except (OSError, subprocess.SubprocessError) as error:
        raise SwizzleError(
            f"{command[0]} cannot be started: {getattr(error, 'strerror', None) or error}",
            expected="a program that this machine can run",
            fix="install it anew, or take it off the PATH",
        ) from None
    own = keeper()
    own.hold(process.pid)
    try:
        out, err = _talk(process, given, time.monotonic() + seconds)
        return Done(process.returncode, out, err)
    finally:
        # Whatever it started goes with it, also where it ended by itself.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        own.let_go(process.pid)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def is_confined() -> bool:
    """Tell whether what is started now is in a sandbox."""
    return _confined.get()


def call_child(work: Callable[[], bytes], *, seconds: float, reads: Sequence[Path]) -> bytes:
    """Do some work of this process in a fork of it, in a sandbox: a library that is given a stranger's text.

    Raises TooLong after `seconds`, and where the work ends without an answer.
    """
    sandbox = Sandbox(Path(sys.executable), None, reads, starts=True)
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            os.setsid()
            sandbox.enter()
            with open(writer, "wb") as pipe:
                pipe.write(work())
        finally:
            os._exit(0)
    os.close(writer)
    own, until, said = keeper(), time.monotonic() + seconds, bytearray()
    own.hold(child)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(reader, selectors.EVENT_READ)
            while True:
                look()
                if time.monotonic() > until:
                    break
                if not selector.select(BETWEEN):
                    continue
                chunk = os.read(reader, 1 << 20)
                said += chunk
                if not chunk and said:
                    return bytes(said)
                if not chunk or len(said) > MOST_OUTPUT:
                    break
        raise TooLong
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        own.let_go(child)
        os.waitpid(child, 0)


def _talk(process: subprocess.Popen[bytes], given: bytes, until: float) -> tuple[bytes, bytes]:
    """Feed a process and collect what it says until it has ended."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    said = {process.stdout: bytearray(), process.stderr: bytearray()}
    left = memoryview(given)
    with selectors.DefaultSelector() as selector:
        for pipe in said:
            selector.register(pipe, selectors.EVENT_READ)
        if given:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        while selector.get_map():
            ready = selector.select(min(BETWEEN, until - time.monotonic()))
            look()
            if time.monotonic() > until:
                raise TooLong
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    try:
                        left = left[os.write(key.fd, left[: 1 << 16]) :]
                    except BlockingIOError:
                        continue
                    except BrokenPipeError:  # it ended without reading all
                        left = left[:0]
                    if not left:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, 1 << 20)
                said[key.fileobj] += chunk  # type: ignore[index]
                if not chunk:
                    selector.unregister(key.fileobj)
                if sum(map(len, said.values())) > MOST_OUTPUT:
                    raise TooLong
    while True:
        try:
            process.wait(max(min(BETWEEN, until - time.monotonic()), 0.01))
            break
        except subprocess.TimeoutExpired:
            look()
            if time.monotonic() > until:
                raise TooLong from None
    return bytes(said[process.stdout]), bytes(said[process.stderr])
