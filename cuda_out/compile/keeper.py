"""What outlives this process by a moment: it ends what still runs, and removes the folder of all scratch files.

A keeper, a shell in a session of its own, waits for the end of a pipe that only this process holds open. Whatever ends
this process, SIGKILL included, the keeper then kills what still runs and removes the folder. Who kills the keeper as
well, at once, leaves the folder behind.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from symbolic.errors import SwizzleError

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
