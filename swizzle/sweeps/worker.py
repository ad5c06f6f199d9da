"""A worker: a process that answers one job at a time, and a new one when that is gone.

A job whose process is gone is begun again, so many times; then that is its answer. A process that is silent at its
time's end is killed. Processes end with the one that started them, however that ends.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from cuda_out.compile.children import keeper
from swizzle.sweeps.process import READY

MORE: Final = 5.0
"""Seconds beyond a job's own limit after which its process is killed."""
_START: Final = """\
import sys
call, count = sys.argv[1], int(sys.argv[2])
words, sys.path[:] = sys.argv[3:3 + count], sys.argv[3 + count:]
from importlib import import_module
module, _, name = call.partition(":")
getattr(import_module(module), name)(*words)
"""


def command_line(call: str, *words: Any) -> list[str]:
    """Return the command of a process of Python that calls 'MODULE:FUNCTION' with words, and finds modules as here."""
    paths = map(os.path.abspath, sys.path)
    return [sys.executable, "-I", "-c", _START, call, str(len(words)), *map(str, words), *paths]


class JobAnswer(Struct, frozen=True):
    """What came of a job: its status, its answer as JSON, the seconds it took, and how often it was begun."""

    key: str
    status: str
    answer: str
    seconds: float
    attempts: int


class AskedJob(Struct, frozen=True):
    """A job under way: its key, its text, its limit in seconds, and how often it was begun before."""

    key: str
    text: str
    timeout: float | None
    attempts: int = 0


class CannotStart(Exception):
    """A worker's process ends before it can answer anything; the message is what it said."""


class Worker:
    """Answers jobs by `call`, 'MODULE:FUNCTION', in a process of its own; `memory` is for jobs that name no limit."""

    def __init__(self, call: str, memory: int | None, retries: int) -> None:
        self.call, self.retries = call, retries
        self.command = command_line("swizzle.sweeps.process:main", call, memory or 0)
        self.asked: AskedJob | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._heard = bytearray()
        self._ready = False
        self._until: float | None = None
        self._began = 0.0

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return self._process.pid if self._process is not None else None

    def fileno(self) -> int:
        """Return the pipe on which answers come, to be waited for."""
        assert self._process is not None and self._process.stdout is not None
        return self._process.stdout.fileno()

    def ask(self, asked: AskedJob) -> None:
        """Begin a job."""
        assert self.asked is None
        self.asked = asked
        self._begin()

    def _begin(self) -> None:
        """Begin, or begin again, what is asked."""
        asked = self.asked
        assert asked is not None
        if self._process is not None and self._process.poll() is not None:
            self.end()  # it was idle: no job has to do with that
        if self._process is None:
            self._start()
        assert self._process is not None and self._process.stdin is not None
        self.asked = AskedJob(asked.key, asked.text, asked.timeout, asked.attempts + 1)
        self._began = time.monotonic()
        self._until = None if asked.timeout is None else self._began + asked.timeout + MORE
        with suppress(BrokenPipeError):  # which `hear` sees as the end
            rest = memoryview(asked.text.encode() + b"\n")
            while rest:
                rest = rest[self._process.stdin.write(rest) :]

    def _start(self) -> None:
        self._said_on_start = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said_on_start, bufsize=0,
            start_new_session=True,
        )  # fmt: skip
        keeper().hold(self._process.pid)
        self._heard.clear()
        self._ready = False

    def hear(self) -> JobAnswer | None:
        """Take in what the process has said; return what came of the job, where that is known."""
        assert self._process is not None and self.asked is not None
        chunk = os.read(self.fileno(), 1 << 20)
        self._heard += chunk
        if not self._ready and b"\n" in self._heard:
            assert self._heard.startswith(READY.encode())
            del self._heard[: self._heard.index(b"\n") + 1]
            self._ready = True
            self._said_on_start.close()
        if self._heard.endswith(b"\n"):
            said = json.loads(self._heard)
            self._heard.clear()
            if said["last"]:
                self.end()
            return self._over(said["status"], said["answer"], said["seconds"])
        if chunk:
            return None
        return self._gone()

    def late(self) -> JobAnswer | None:
        """Return the answer of a job whose time is over, and end its process."""
        if self._until is None or time.monotonic() < self._until:
            return None
        assert self.asked is not None
        self.end()
        answer = {"status": "timeout", "reason": f"timeout after {self.asked.timeout:g} s, and no answer to that"}
        return self._over("timeout", answer, time.monotonic() - self._began)

    def _gone(self) -> JobAnswer | None:
        """Begin again what the process has not answered, or say that it can't be."""
        asked = self.asked
        assert self._process is not None and asked is not None
        ready, said = self._ready, b""
        if not ready:
            self._said_on_start.seek(0)
            said = self._said_on_start.read()
        status = self.end()
        if not ready and status >= 0:
            raise CannotStart(said.decode(errors="replace").strip().rpartition("\n")[2])
        if asked.attempts <= self.retries:
            self._begin()
            return None
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        reason = f"its process ended {asked.attempts} times, the last time by {how}"
        return self._over("killed", {"status": "killed", "reason": reason}, time.monotonic() - self._began)

    def _over(self, status: str, answer: Mapping[str, Any], seconds: float) -> JobAnswer:
        asked, self.asked, self._until = self.asked, None, None
        assert asked is not None
        return JobAnswer(asked.key, status, json.dumps(answer), seconds, asked.attempts)

    def end(self) -> int:
        """End the process, and return its status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        if not self._ready:
            self._said_on_start.close()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        keeper().let_go(process.pid)
        return process.wait()

    def answer(self, asked: AskedJob) -> JobAnswer:
        """Return what comes of a job, however long that takes."""
        self.ask(asked)
        try:
            while True:
                with selectors.DefaultSelector() as selector:
                    selector.register(self, selectors.EVENT_READ)
                    ready = selector.select(1.0)
                said = self.hear() if ready else self.late()
                if said is not None:
                    return said
        except BaseException:
            self.asked = None
            self.end()
            raise
