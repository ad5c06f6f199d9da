"""Assumptions and assertions, in the order in which a program makes them.

An assertion is demanded of the inputs that meet the assumptions before it, and an assumption speaks of the runs that no
assertion before it has ended: `assert_(x > 0); assume(x > 0)` has a counterexample (Rosette's verification condition).
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING

from msgspec import Struct, field

from symbolic.core.booleans import Boolean, BooleanLike, as_condition
from symbolic.errors import Place, SwizzleError
from symbolic.solve.floor_division import manager

if TYPE_CHECKING:
    from pysmt.fnode import FNode


class Obligation(Struct, frozen=True):
    """One assumption or assertion: its condition on the inputs, what it says, and where."""

    condition: Boolean
    demanded: bool
    text: str
    place: Place | None


class Obligations(Struct):
    """What one `with obligations()` has collected."""

    made: list[Obligation] = field(default_factory=list)

    @property
    def assumptions(self) -> list[Boolean]:
        """The conditions that are assumed."""
        return [each.condition for each in self.made if not each.demanded]

    @property
    def assertions(self) -> list[Boolean]:
        """The conditions that are demanded."""
        return [each.condition for each in self.made if each.demanded]

    def premises(self) -> list[FNode]:
        """Return what is assumed, each formula where no assertion before it is broken."""
        found: list[FNode] = []
        demanded: list[FNode] = []
        for each in self.made:
            if each.demanded:
                demanded.append(each.condition.formula)
            elif demanded:
                found.append(manager().Implies(manager().And(list(demanded)), each.condition.formula))
            else:
                found.append(each.condition.formula)
        return found


class Here(Struct, frozen=True):
    """Where a program is: the condition of its path, built when it is asked for, and the place."""

    formula: Callable[[], FNode]
    place: Place


_innermost: ContextVar[Obligations | None] = ContextVar("obligations", default=None)
_here: ContextVar[Here | None] = ContextVar("here", default=None)


@contextmanager
def obligations() -> Iterator[Obligations]:
    """Collect the assumptions and assertions made inside, on top of those of the enclosing block."""
    outer = _innermost.get()
    inner = Obligations(list(outer.made) if outer else [])
    token = _innermost.set(inner)
    try:
        yield inner
    finally:
        _innermost.reset(token)


@contextmanager
def on_path(here: Here) -> Iterator[None]:
    """Say where the program is, for the assumptions and assertions of what is called inside."""
    token = _here.set(here)
    try:
        yield
    finally:
        _here.reset(token)


def demand(condition: Boolean, text: str) -> None:
    """Demand what an operation needs; SwizzleError where no block collects it."""
    here = _here.get()
    formula = manager().Implies(here.formula(), condition.formula) if here is not None else condition.formula
    note(Obligation(Boolean(formula), True, text, current_place()))


def current_place() -> Place | None:
    """Return the place in a lifted function, or the line that called from outside of this package."""
    here = _here.get()
    return here.place if here is not None else _callers_place()


def current_path() -> FNode | None:
    """Return the condition of the path that a lifted function called from; None outside of any."""
    here = _here.get()
    return None if here is None else here.formula()


def assume(condition: BooleanLike) -> None:
    """Restrict the queries of this block to inputs for which the condition holds."""
    _state("assume", condition, demanded=False)


def assert_(condition: BooleanLike) -> None:
    """Demand the condition in the queries of this block."""
    _state("assert_", condition, demanded=True)


def known() -> Obligations:
    """Return what the innermost block has collected so far."""
    return _innermost.get() or Obligations()


def note(obligation: Obligation) -> None:
    """Add to what the innermost block collects; SwizzleError where there is none."""
    current = _innermost.get()
    if current is None:
        raise SwizzleError(
            f"{obligation.text}: nothing collects what must hold here", place=obligation.place,
            expected="a block around it", fix="with obligations(): ...",
        )  # fmt: skip
    current.made.append(obligation)


def _state(caller: str, condition: BooleanLike, *, demanded: bool) -> None:
    formula, here = as_condition(condition), _here.get()
    if _innermost.get() is None:
        raise SwizzleError(
            f"{caller} outside of any block that collects", place=here.place if here else None,
            expected="a block around it", fix="with obligations(): ...",
        )  # fmt: skip
    if here is not None:
        formula = manager().Implies(here.formula(), formula)
    note(Obligation(Boolean(formula), demanded, f"{caller}({_brief(condition)})", current_place()))


def _brief(condition: BooleanLike) -> str:
    text = str(condition.formula if isinstance(condition, Boolean) else condition)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _callers_place() -> Place | None:
    """Return the line that called from outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("symbolic."):
        frame = frame.f_back
    if frame is None:
        return None
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).rstrip()
    return Place(frame.f_code.co_filename, frame.f_lineno, len(text) - len(text.lstrip()) + 1, len(text) + 1)
