"""What `--timeout` and `--memory` leave to a command."""

from __future__ import annotations

import time

from swizzle.commands.startup import STARTED, is_command_line
from symbolic.limits import GRACE, default_memory, harden, limited


class Bounds:
    """The time of each sketch of a file, and the memory of all.

    Reading the file counts as part of the first sketch's time, as does the start of the command line's process.
    """

    def __init__(self, timeout: float | None, memory: int | None) -> None:
        self.timeout = timeout
        self.memory = default_memory() if memory is None else memory
        self._begun = STARTED if is_command_line() else time.monotonic()
        if self.memory is not None and is_command_line():
            harden(self.memory)

    def hold(self, more: float = 0.0) -> limited:
        """Return the scope in which the limits hold, for some more seconds."""
        if self.timeout is None:
            return limited(None, self.memory)
        return limited(self._begun + self.timeout + more, self.memory, said=f"timeout after {self.timeout:g} s")

    def reading(self) -> limited:
        """Return the scope in which the file is read: where that takes longer, there is no sketch to speak of."""
        return self.hold(GRACE)

    def spent(self) -> float:
        """Return the seconds that the sketch has taken."""
        return time.monotonic() - self._begun

    def next_sketch(self) -> None:
        """Give the next sketch the whole time."""
        self._begun = time.monotonic()
