"""A grammar as rules: what a choice may be, each alternative a formula with slots for the choices within it.

The rules are read off by running the grammar with every choice, and every call of a grammar, left open: calls that are
given the same are one set of rules, so that their number grows with the depth and not with the programs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from msgspec import Struct
from pysmt.environment import get_env
from pysmt.fnode import FNode
from pysmt.typing import PySMTType

from symbolic.core.obligations import obligations
from symbolic.core.structures import mapped
from symbolic.core.value_types import BitVector, Boolean, Integer, IntegerLike
from symbolic.core.values import choose
from symbolic.errors import SwizzleError
from symbolic.lifting.calls import bound_names
from symbolic.lifting.environment import Closure, FunctionSketch
from symbolic.lifting.interpreter import Activation
from symbolic.lifting.printing import OPERATIONS
from symbolic.lifting.running import Running
from symbolic.lifting.states import Dead, PathSite, State
from symbolic.lifting.unknowns import ChoicePoint
from symbolic.lifting.values import Items, as_integer
from symbolic.solve.floor_division import manager
from symbolic.values.guard import TRUE
from symbolic.values.union import Union

GrammarInstance: TypeAlias = tuple[object, ...]


class NoRules(Exception):
    """What is open is more than choices, or a value of several kinds, or something must hold of it."""


class Slot(Struct, frozen=True, eq=False):
    """Where in an alternative something is open: the symbol in its formula, what may stand there, the place in the
    text; None of a part that was only split off."""

    symbol: FNode
    rules: Productions
    node: ast.Call | None


class Alternative(Struct, frozen=True, eq=False):
    """One way to go on: how many operators its own text has, its formula, its slots."""

    own: int
    formula: FNode
    slots: tuple[Slot, ...]


class Productions(Struct, frozen=True, eq=False, dict=True):
    """What may stand somewhere: the alternatives of a choice, or the only one of a grammar's call, a part, a sum.

    `choice` is the place in the text of what chooses; `called` says that its parts are a grammar's own.
    """

    alternatives: tuple[Alternative, ...]
    like: Any
    choice: ast.Call | None = None
    called: bool = False

    @property
    def sort(self) -> PySMTType:
        """The sort of its values."""
        return get_env().stc.get_type(self.like.formula)

    @cached_property
    def most(self) -> int:
        """The greatest cost."""
        return max(each.own + sum(slot.rules.most for slot in each.slots) for each in self.alternatives)

    @cached_property
    def cheapest(self) -> tuple[int, Any]:
        """The least cost, and a derivation that has it."""
        found = []
        for number, each in enumerate(self.alternatives):
            parts = [slot.rules.cheapest for slot in each.slots]
            found.append((each.own + sum(cost for cost, _ in parts), number, [part for _, part in parts]))
        cost, number, parts_ = min(found, key=lambda each: each[:2])
        return cost, (number, parts_)

    @cached_property
    def plain(self) -> Productions:
        """These rules, or those that its only alternative consists of."""
        (first, *more) = self.alternatives
        if more or first.own or [first.formula] != [slot.symbol for slot in first.slots]:
            return self
        return first.slots[0].rules.plain


class OpenActivation(Activation):
    """A run in which choices, and calls of grammars, are left open."""

    def __init__(self, function: Closure, path: int, *, caller: Running | None = None, **options: Any) -> None:
        super().__init__(function, path, caller=caller, **options)
        outer = caller if isinstance(caller, OpenActivation) else None
        self.known: dict[object, Productions] = {} if outer is None else outer.known
        self.slots: list[Slot] = [] if outer is None else outer.slots

    def enter(
        self, site: PathSite, node: ast.AST, function: Closure, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """Call a lifted function; a grammar's call is open."""
        if not function.grammar:
            return super().enter(site, node, function, arguments, keywords)
        names = bound_names(function, arguments, keywords, site.where)
        return self._opened(node, self.rules(function, names))

    def unknown(self, function: Any, node: ast.Call, state: State) -> Any:
        """Leave a choice open."""
        if function is not choose:
            raise NoRules
        found = [self._alternative(each, state) for each in node.args]
        return self._opened(node, _rules(found, node))

    def rules(self, function: Closure, names: Mapping[str, Any]) -> Productions:
        """Return the rules of a grammar's call."""
        key = (function.code, *((name, _key(value)) for name, value in sorted(names.items())))
        if key not in self.known:
            inner = OpenActivation(function, TRUE, caller=self)
            inner.slots = []
            value = inner.run(dict(names))
            if len(inner.returns) != 1 or inner.returns[0] is None or inner.named:
                raise NoRules
            self.known[key] = _rules([(value, inner._own(inner.returns[0], inner.slots), inner.slots)], None)
        return self.known[key]

    def _opened(self, node: ast.AST, rules: Productions) -> Any:
        if not isinstance(node, ast.Call) or any(slot.node is node for slot in self.slots):
            raise NoRules
        symbol = manager().FreshSymbol(rules.sort, "slot!%d")
        self.slots.append(Slot(symbol, rules, node))
        return Boolean(symbol) if isinstance(rules.like, Boolean) else rules.like.like(symbol)

    def _alternative(self, node: ast.expr, state: State) -> tuple[Any, int, list[Slot]]:
        before, self.slots = self.slots, []
        value = self.value(node, State(TRUE, dict(state.names)))
        found, self.slots = self.slots, before
        return value, self._own(node, found), found

    def _own(self, node: ast.AST, slots: list[Slot]) -> int:
        """Return how many operators a text has beside those in its slots, each of which has a value."""
        open_ = {slot.node for slot in slots}

        def cost(each: ast.AST) -> int:
            if each in open_:
                open_.discard(each)
                return 0
            if isinstance(each, ast.Call) and ((f := self._named(each)) is choose or getattr(f, "grammar", False)):
                raise NoRules
            return int(isinstance(each, OPERATIONS)) + sum(map(cost, ast.iter_child_nodes(each)))

        found = cost(node)
        if open_:  # in a function that is called
            raise NoRules
        return found


def rules_of(function: Closure, calls: Sequence[Mapping[str, Any]]) -> tuple[Productions, list[dict[FNode, FNode]]]:
    """Return the rules of a grammar that is called with several things, and what its formulas have in place of each
    number that a call gives; NoRules where it has none, or other ones for each call."""
    given = [[leaf for _, value in sorted(names.items()) for leaf in _leaves(value)] for names in calls]
    open_ = [any(map(_is_symbolic, leaves)) for leaves in zip(*given, strict=False)]
    model = next((i for i, leaves in enumerate(given) if [*map(_is_symbolic, leaves)] == open_), None)
    if model is None or len({len(leaves) for leaves in given}) > 1:
        raise NoRules
    symbols, places = [], [dict[FNode, FNode]() for _ in calls]
    for here, *leaves in zip(open_, *given, strict=True):
        like = leaves[model]
        if not here:
            if any(leaf != like for leaf in leaves):
                raise NoRules
            continue
        symbol = manager().FreshSymbol(get_env().stc.get_type(like.formula), "given!%d")
        symbols.append(Boolean(symbol) if isinstance(like, Boolean) else like.like(symbol))
        for leaf, place in zip(leaves, places, strict=True):
            value = leaf if isinstance(leaf, Boolean) else like.lift(leaf, exact=True)
            place[symbol] = value.formula
    supply = iter(symbols)
    with obligations() as collected:
        before = len(collected.made)
        try:
            names = {name: _renewed(value, supply) for name, value in sorted(calls[model].items())}
            found = OpenActivation(function, TRUE).rules(function, names)
        except (Dead, SwizzleError):
            raise NoRules from None
        if len(collected.made) > before:
            raise NoRules
    return found, places


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, IntegerLike | Boolean)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | Items):
        for each in value if isinstance(value, tuple) else value.items:
            yield from _leaves(each)
    else:
        yield as_integer(value) if isinstance(value, Union) else value


def _renewed(value: Any, supply: Iterator[Any]) -> Any:
    """Return a value with other symbolic numbers in it."""
    if isinstance(value, Items):
        return Items.new(_renewed(each, supply) for each in value.items)
    return (
        next(supply)
        if _is_symbolic(value) or isinstance(value, Union)
        else mapped(lambda v: _renewed(v, supply), value)
    )


def choices(
    rules: Productions, derivation: Any, sketch: FunctionSketch, instance: GrammarInstance
) -> Iterator[tuple[ChoicePoint, int]]:
    """Yield what each choice of a derivation chooses: a number of an alternative, with a derivation of each slot."""
    number, parts = derivation
    alternative = rules.alternatives[number]
    if rules.choice is not None:
        yield sketch.unknowns[(*instance, rules.choice)], number
    for slot, part in zip(alternative.slots, parts, strict=True):
        inner = instance
        if slot.node is not None and slot.rules.called:
            inner = sketch.expansions[(*instance, slot.node)].instance
        yield from choices(slot.rules, part, sketch, inner)


def _key(value: Any) -> object:
    match value:
        case IntegerLike() | Boolean():
            return type(value), value.formula
        case tuple():
            return tuple(map(_key, value))
        case Items():
            return list, tuple(map(_key, value.items))
        case bool() | int() | str() | None:
            return type(value), value
    raise NoRules


def _rules(found: list[tuple[Any, int, list[Slot]]], choice: ast.Call | None) -> Productions:
    """Return rules whose alternatives are of one kind."""
    values: list[Any] = [as_integer(value) if not isinstance(value, bool) else value for value, _, _ in found]
    like = next((value for value in values if isinstance(value, BitVector)), values[0])
    if isinstance(like, BitVector):
        values = [
            like.lift(value.formula.constant_value(), exact=True)
            if isinstance(value, Integer) and value.formula.is_constant()
            else value
            for value in values
        ]
    elif isinstance(like, bool | Boolean):
        values = [Boolean(manager().Bool(value)) if isinstance(value, bool) else value for value in values]
        like = values[0]
    kinds = {(type(value), getattr(value, "width", 0), getattr(value, "signed", False)) for value in values}
    if len(kinds) > 1 or not isinstance(like, IntegerLike | Boolean):
        raise NoRules
    return Productions(
        tuple(
            _split(Alternative(own, value.formula, tuple(slots)))
            for value, (_, own, slots) in zip(values, found, strict=True)
        ),
        like, choice, choice is None,
    )  # fmt: skip


def _split(alternative: Alternative) -> Alternative:
    """Return an alternative with no more than a few slots: parts that have several of them for themselves are split
    off, so that what a condition may be is counted once and not for each value of the branches."""
    if len(alternative.slots) < 3:
        return alternative
    by_symbol = {slot.symbol: slot for slot in alternative.slots}
    of = [[s for s in get_env().fvo.get_free_variables(each) if s in by_symbol] for each in alternative.formula.args()]
    parts: dict[FNode, Slot] = {}
    kept = list(alternative.slots)
    for place, (each, symbols) in enumerate(zip(alternative.formula.args(), of, strict=True)):
        elsewhere = {s for other, some in enumerate(of) if other != place for s in some}
        if len(symbols) > 1 and not elsewhere.intersection(symbols):
            inner = tuple(slot for slot in alternative.slots if slot.symbol in symbols)
            kind = get_env().stc.get_type(each)
            symbol = manager().FreshSymbol(kind, "part!%d")
            part = Productions(
                (_split(Alternative(0, each, inner)),), Boolean(symbol) if kind.is_bool_type() else Integer(symbol)
            )
            parts[each] = Slot(symbol, part, None)
            kept = [slot for slot in kept if slot not in inner] + [parts[each]]
    if not parts:
        return alternative
    formula = alternative.formula.substitute({each: slot.symbol for each, slot in parts.items()})
    return Alternative(alternative.own, formula, tuple(kept))
