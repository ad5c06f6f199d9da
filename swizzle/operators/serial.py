"""`@serial`: a function that goes once over its arrays, read as a loop.

    @serial
    def best_run(x: i32):
        here, best = 0, 0
        for v in x:
            here = max(0, here + v)
            best = max(best, here)
        return best

The body may say what a lifted function may: tests, loops of a known length, calls, `continue`; and `break`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from msgspec.structs import replace

from swizzle.language.element_types import caller_place
from swizzle.language.parameters import MODULE_KEY, Parameters
from swizzle.operators.loop import Loop
from swizzle.operators.reading import loop_of
from symbolic.errors import SwizzleError
from symbolic.lifting.environment import Closure, closure_of

ROUNDS: Final = 32
"""Of a loop inside the loop whose end depends on the data, so many rounds are looked at."""


class Serial:
    """A serial loop: call it on lists, or let `swizzle operator` find what makes a scan of it."""

    def __init__(self, closure: Closure, length: int | None = None, run: Callable[..., Any] | None = None) -> None:
        self.closure = closure
        self.name = closure.code.name
        self.place = closure.code.text.place(closure.code.node)
        self.loop: Loop = loop_of(closure, length, run)
        self._run = run

    def __call__(self, *arrays: Any) -> Any:
        """Return what the loop makes of its arrays, by Python itself where the function is Python's."""
        if self._run is not None:
            return self._run(*arrays)
        found = self.loop.finished(self.loop.after(zip(*arrays, strict=True)))
        return found[0] if len(found) == 1 else found

    def __repr__(self) -> str:
        return f"<serial {self.name}>"


def serial_of(closure: Closure, length: int | None = None, run: Callable[..., Any] | None = None) -> Serial:
    """Return the serial loop that a function is; `run` is the function itself, where it is Python's."""
    return Serial(replace(closure, bound=ROUNDS), length, run)


def serial(function: Any = None, /, *, length: int | None = None, where: Any = None) -> Any:
    """Make a serial loop of a function: its parameters are arrays, `x: f32`, over which one loop goes once.

    `length` promises at most so many elements, `where` what each is: `where=lambda v: -1000 <= v <= 1000`, a parameter
    for each array. Raises SwizzleError with a place for what is no such loop.
    """
    place = caller_place()

    def make(given: Any) -> Serial:
        if not isinstance(given, FunctionType):
            raise SwizzleError(
                f"@serial was given {given!r}",
                place=place,
                expected="a function made by `def`",
                fix="put @serial directly above `def`",
            )
        parameters: Parameters = given.__globals__.get(MODULE_KEY, Parameters())
        made = parameters.made(given.__name__, lambda: serial_of(closure_of(given, ROUNDS, "assert"), length, given))
        if isinstance(made, Serial):
            functools.update_wrapper(made, given)
        return made

    return make if function is None else make(function)
