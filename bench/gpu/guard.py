"""A contender that breaks the device, or never ends, costs its own place in the table and nothing else; a case that
does so outside of its contenders costs itself.

After an access out of bounds a CUDA context is of no more use, and a kernel that hangs cannot be taken back: the
process has to go. It is replaced by a new one with the same command line, which finds the rows that were kept, and the
contender among those that are not to be run again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.gpu.driver import DriverError, Refused
from bench.kept import keep_rows

PATIENCE_S = 150.0
"""What one variant may take with all its runs, compilation and copies included."""


def start_again(command: Sequence[str]) -> None:
    """Replace this process."""
    sys.stdout.flush()
    os.execv(command[0], list(command))


class Guard:
    """Entered around every variant of a contender, `with guard(case, contender)`, and around every case."""

    def __init__(
        self,
        path: Path,
        mark: str,
        broken: dict[str, dict[str, Any]],
        arguments: Sequence[str],
        budget_s: float,
        started: float,
        *,
        patience_s: float = PATIENCE_S,
        start: Callable[[Sequence[str]], None] = start_again,
    ) -> None:
        self.path, self.mark, self.broken = path, mark, broken
        self.arguments, self.budget_s, self.started = arguments, budget_s, started
        self.patience_s, self.start = patience_s, start
        self.left = False

    @contextmanager
    def around(self, case: str) -> Iterator[None]:
        """Entered around a whole case: what breaks the device outside of its contenders costs the case."""
        try:
            yield
        except Refused:
            raise
        except DriverError as error:
            if not self.left:
                self._leave(case, "", f"broke the device: {error}")
            raise

    @contextmanager
    def __call__(self, case: str, contender: str) -> Iterator[None]:
        late = f"did not end within {self.patience_s:.0f} s"
        watch = threading.Timer(self.patience_s, self._leave, (case, contender, late))
        watch.daemon = True
        watch.start()
        try:
            yield
        except Refused:
            raise
        except DriverError as error:
            watch.cancel()
            self._leave(case, contender, f"broke the device: {error}")
            raise
        finally:
            watch.cancel()

    def _leave(self, case: str, contender: str, reason: str) -> None:
        self.left = True
        name = f"{case}: {contender}" if contender else case
        print(f"{name} {reason}; it is left out from here on", flush=True)
        self.broken[name] = {"reason": reason}
        keep_rows(self.path, self.mark, self.broken)
        left = self.budget_s - (time.monotonic() - self.started)
        # `--afresh` has done its work; of two budgets the later counts.
        words = [word for word in self.arguments if word != "--afresh"]
        if left != float("inf"):
            words += ["--budget", f"{max(left, 0.0):.0f}"]
        self.start([sys.executable, "-m", "bench.gpu", *words])
