"""Holes and choices in a lifted function: one unknown for each place in the text, whoever calls it.

In a grammar, every call has unknowns of its own: a place is then known by the calls that lead to it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct

from symbolic.core.value_types import Boolean
from symbolic.core.values import boolean_hole, choose, hole
from symbolic.errors import SwizzleError
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import FunctionSketch
from symbolic.lifting.operations import for_all
from symbolic.lifting.states import PathSite, State
from symbolic.solve.answer import Model
from symbolic.values.guard import TRUE, Guard

if TYPE_CHECKING:
    from pysmt.fnode import FNode


class UnknownsRun(Protocol):
    """What is needed of the running function."""

    sketch: FunctionSketch
    instance: tuple[object, ...]

    def value(self, node: ast.expr, state: State) -> Any:
        """Return what an expression is on a state's paths."""

    def site(self, node: ast.AST, state: State) -> PathSite:
        """Return where a node is met."""

    def sharing(self, choice: ast.Call, state: State) -> AbstractContextManager[None]:
        """Let the alternatives of a choice share the calls of grammars in them."""


class ChoicePoint(Struct, frozen=True):
    """One place where an expression is chosen: each alternative has the guard that it is the one."""

    guards: tuple[Guard, ...]
    holes: tuple[FNode, ...]

    @staticmethod
    def among(count: int) -> ChoicePoint:
        """Return a new choice: the first alternative whose hole is true, else the last."""
        table, guards, none = conditions(), [], TRUE
        holes = tuple(boolean_hole().formula for _ in range(count - 1))
        for chosen in map(table.guard, holes):
            guards.append(table.both(none, chosen))
            none = table.both(none, -chosen)
        return ChoicePoint((*guards, none), holes)

    def choosing(self, number: int) -> dict[FNode, bool]:
        """Return what the holes are that choose an alternative."""
        return {hole: place == number for place, hole in enumerate(self.holes[: number + 1])}

    def made(self, model: Model) -> int:
        """Return which alternative a model chooses."""
        table = conditions()
        return next(i for i, guard in enumerate(self.guards) if model.value(table.formula(guard)))


def _hole(machine: UnknownsRun, node: ast.Call, state: State) -> Any:
    key = (*machine.instance, node)
    if key not in machine.sketch.unknowns:
        keywords = {each.arg: machine.value(each.value, state) for each in node.keywords if each.arg}
        arguments = [machine.value(each, state) for each in node.args]
        machine.sketch.unknowns[key] = hole(*arguments, **keywords)
    return machine.sketch.unknowns[key]


def _boolean_hole(machine: UnknownsRun, node: ast.Call, _: State) -> Boolean:
    key = (*machine.instance, node)
    if key not in machine.sketch.unknowns:
        machine.sketch.unknowns[key] = boolean_hole()
    found: Boolean = machine.sketch.unknowns[key]
    return found


def _choose(machine: UnknownsRun, node: ast.Call, state: State) -> Any:
    if not node.args or node.keywords:
        raise SwizzleError("a choice among nothing", expected="at least one alternative", fix="choose(a, b)")
    key = (*machine.instance, node)
    if key not in machine.sketch.unknowns:
        machine.sketch.unknowns[key] = ChoicePoint.among(len(node.args))
    choice: ChoicePoint = machine.sketch.unknowns[key]
    parts = list(zip(choice.guards, node.args, strict=True))
    with machine.sharing(node, state):
        return for_all(
            machine.site(node, state), parts, lambda at, each: machine.value(each, State(at.path, state.names))
        )


UNKNOWN: Final[dict[Any, Callable[[UnknownsRun, ast.Call, State], Any]]] = {
    hole: _hole,
    boolean_hole: _boolean_hole,
    choose: _choose,
}
"""What makes an unknown, and what it makes at a place."""
