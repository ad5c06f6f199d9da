"""Holes and choices in a lifted function: one unknown for each place in the text, whoever calls it; and of several
alternatives, of which only one is chosen, calls of grammars that share their unknowns.

In a grammar, every call has unknowns of its own: a place is then known by the calls that lead to it.

In `choose(x, expr(d - 1) + expr(d - 1), expr(d - 1) * expr(d - 1))` the first calls of both alternatives are one
unknown expression, and so are the second ones. So a grammar has as many unknowns as its largest program has nodes, and
not as many as there are ways to them: of depth 4, here 31 instead of 341.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from msgspec import Struct, field

from symbolic.core.obligations import Obligation, note, obligations
from symbolic.core.value_types import Boolean
from symbolic.core.values import boolean_hole, choose, hole
from symbolic.errors import SwizzleError
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Closure, FunctionSketch
from symbolic.lifting.operations import for_all
from symbolic.lifting.states import Dead, PathSite, State
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


Slots: TypeAlias = dict[ast.Call, ast.Call]
"""For each call of a grammar in a choice, the first of the calls that it shares its expression with."""
SEPARATE = (ast.Lambda, ast.ListComp, ast.GeneratorExp)
"""What runs an expression with other values of the same names."""


def slots(choice: ast.Call, named: Callable[[ast.Call], Any]) -> Slots:
    """Return which calls of grammars in a choice share what they become; `named` says which function a call names.

    Two calls do where no program has both, and what they are given is written alike.
    """
    first: dict[tuple[object, int], ast.Call] = {}
    found: Slots = {}

    def visit(node: ast.AST, seen: Counter[object]) -> Counter[object]:
        """Look through an expression behind others of the same program, in which calls were `seen` so often."""
        if isinstance(node, SEPARATE):
            return seen
        if isinstance(node, ast.Call):
            function = named(node)
            if function is choose:
                behind = [visit(each, seen.copy()) for each in node.args]
                return Counter({key: max(each[key] for each in behind) for some in behind for key in some})
            if isinstance(function, Closure) and function.grammar:
                given = sorted((name, ast.dump(each)) for name, each in function.code.arguments(node).items())
                called = (function.code, *given)
                found[node] = first.setdefault((called, seen[called]), node)
                seen[called] += 1
                return seen
        for child in ast.iter_child_nodes(node):
            seen = visit(child, seen)
        return seen

    visit(choice, Counter())
    return found


class Shared(Struct):
    """What a call of a grammar gives for all alternatives that have it, under the guard that one of those is chosen."""

    guard: Guard
    value: Any = None
    dead: bool = False
    obligations: list[Obligation] = field(default_factory=list)
    uses: list[Guard] = field(default_factory=list)

    @staticmethod
    def run(path: Guard, called: Callable[[Guard], Any]) -> Shared:
        """Call once for all; what must hold is kept until it is known on which paths."""
        table = conditions()
        made = Shared(table.guard(boolean_hole().formula))
        with obligations() as collected:
            before = len(collected.made)
            try:
                made.value = called(table.both(path, made.guard))
            except Dead:
                made.dead = True
            made.obligations = collected.made[before:]
        return made

    def used(self, path: Guard) -> Any:
        """Return the value on a path that has it; `Dead` where there is none."""
        self.uses.append(path)
        if self.dead:
            raise Dead
        return self.value

    def settled(self) -> Iterator[Obligation]:
        """Yield what must hold, now that all paths are known."""
        if self.obligations:
            table = conditions()
            meaning = {table.formula(self.guard): table.formula(table.any(self.uses))}
            for each in self.obligations:
                yield Obligation(
                    Boolean(each.condition.formula.substitute(meaning)), each.demanded, each.text, each.place
                )


class Sharing:
    """What the alternatives of one choice share, while it is run."""

    def __init__(self, path: Guard, slots: Slots) -> None:
        self.path = path
        self.slots = slots
        self.calls: dict[ast.Call, Shared] = {}

    def settle(self) -> None:
        """Note what must hold."""
        for each in self.calls.values():
            for obligation in each.settled():
                note(obligation)
