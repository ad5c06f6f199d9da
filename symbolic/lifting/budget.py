"""How much work a stranger's text may ask for: steps, sizes, nested calls, and time.

A text that is trusted may ask for as much as it likes, as Python lets it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from symbolic.errors import Place, SwizzleError
from symbolic.limits import look

STEPS: Final = 50_000_000
"""As many expressions, statements and elements may be computed in one run."""
ROUND: Final = 10
CALL: Final = 20
COMPARISON: Final = 20
"""A round of a loop, a call, and a comparison of two elements count as that many steps."""
LENGTH: Final = 1 << 22
"""As many elements a list or tuple may have."""
BITS: Final = 4096
"""As many bits an int may have."""
DEPTH: Final = 100
"""As many calls may be within each other."""
PAUSE: Final = 20_000
"""After as many steps the time is looked at."""
CERTAIN_ROUNDS: Final = 100_000
"""As many rounds may a loop of a trusted text take whatever the inputs are, where its bound is lower."""


class Budget:
    """What is left of the work that a text may ask for.

    Every expression takes a step off `left`; who goes around a loop, calls, or makes something large looks whether it
    is below `pause`, and calls `look` then.
    """

    __slots__ = ("bits", "depth", "left", "length", "limited", "part", "pause", "what")

    def __init__(self, limited: bool, what: str = "the text", part: str = "") -> None:
        self.limited = limited
        self.what, self.part = what, part  # what errors call the text, and what it may hold
        self.left: float = STEPS if limited else math.inf
        self.pause: float = STEPS if limited else -math.inf
        self.length: float = LENGTH if limited else math.inf
        self.bits: float = BITS if limited else math.inf
        self.depth: float = DEPTH if limited else math.inf

    def look(self, where: Callable[[], Place]) -> None:
        """Raise SwizzleError where the steps are used up, and `OutOfTime` where the time is."""
        if self.left < 0:
            raise SwizzleError(
                f"{self.what} takes more than {STEPS:,} steps", place=where(), expected=f"at most {STEPS:,} steps",
                fix="a smaller problem, or a shorter loop",
            )  # fmt: skip
        look(lambda: f"timeout: {self.what} was still running, at {where()}")
        self.pause = self.left - PAUSE

    def spend(self, steps: int, where: Callable[[], Place]) -> None:
        """Take steps for work that is not written out: the elements of what is copied, compared or made."""
        self.left -= steps
        if self.left < self.pause:
            self.look(where)

    def check_length(self, length: int, where: Callable[[], Place]) -> None:
        """Refuse to make a sequence that is too long, before it is there."""
        if length > self.length:
            raise SwizzleError(
                f"a list of more than {LENGTH:,} elements", place=where(), expected=f"at most {LENGTH:,} elements",
                fix="a smaller problem",
            )  # fmt: skip
        self.spend(max(length, 0), where)

    def check_operation(self, symbol: str, a: int, b: int, where: Callable[[], Place]) -> None:
        """Refuse to make an int that is too large, before it is there."""
        match symbol:
            case "**":
                bits = a.bit_length() * max(b, 0) if abs(a) > 1 else 1
            case "<<":
                bits = a.bit_length() + max(b, 0) if a else 0
            case _:
                bits = a.bit_length() + b.bit_length()
        if bits > self.bits:
            raise SwizzleError(
                f"an int of more than {BITS} bits",
                place=where(),
                expected=f"at most {BITS} bits",
                fix="smaller numbers",
            )

    def measure(self, result: Any, parts: Callable[[Any], Sequence[Any] | None], where: Callable[[], Place]) -> None:
        """Take a step for each element that a reader of a result would meet: a list may be in it many times."""
        if not self.limited:
            return
        pending = [result]
        while pending:
            inner = parts(pending.pop())
            if inner is not None:
                self.spend(len(inner), where)
                pending.extend(part for part in inner if parts(part) is not None)


UNLIMITED: Final = Budget(False)
"""The budget of a text that is trusted; nothing is ever taken off it."""
