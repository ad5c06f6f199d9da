"""Ask a solver a question: with a limit on its time, and a check of its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from symbolic.errors import SwizzleError, shown
from symbolic.solve.answer import Answer, Sat, Unknown
from symbolic.solve.solver import Solver

if TYPE_CHECKING:
    from pysmt.fnode import FNode


class Clock:
    """The time that a whole query may take, shared out among its checks, and what it is being spent on."""

    def __init__(self, timeout: float | None, query: str) -> None:
        if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < threading.TIMEOUT_MAX):
            raise SwizzleError(f"a timeout of {shown(timeout)}", expected="seconds, more than 0", fix="timeout=10")
        self._timeout = timeout
        self._query = query
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self.doing = ""

    def left(self) -> float | None:
        """Return the seconds left, never less than a moment."""
        return None if self._deadline is None else max(0.001, self._deadline - time.monotonic())

    def late(self, answer: Answer) -> Answer:
        """Return the answer; one that says nothing says what was asked, and of how long."""
        if not isinstance(answer, Unknown):
            return answer
        doing = f", {self.doing}" if self.doing else ""
        if self._deadline is not None and time.monotonic() >= self._deadline - 0.05:
            return Unknown(f"{self._query} had no answer within {self._timeout:g} s{doing}")
        return Unknown(f"{self._query} had no answer{doing}: {answer.reason}")

    def checked(self, engine: Solver, assumptions: Sequence[FNode], *formulas: FNode) -> Answer:
        """Return the engine's answer, after its model was evaluated."""
        return checked(self.late(engine.check(assumptions, self.left())), *formulas)


def checked(answer: Answer, *formulas: FNode) -> Answer:
    """Return a solver's answer, after its model was evaluated in Python's integers."""
    if isinstance(answer, Sat):
        assert all(answer.model.value(formula) for formula in formulas), "the solver's model does not satisfy"
    return answer
