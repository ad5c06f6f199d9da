"""Numbers as statements of a sketch: expressions whose names are texts, with variables for what is used again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from msgspec import Struct

from symbolic.expressions.expression import (
    Expression,
    add,
    constant,
    multiply,
    negate,
    number_name,
    replaced,
    terms,
)
from symbolic.expressions.text import text_of

CALLS: Final = {"exp": "math.exp", "log": "math.log"}
CHEAP: Final = 3
"""An expression of fewer parts is written out wherever it is used."""


class NumberCall(Struct, frozen=True):
    """A function of numbers: what a name of an expression stands for."""

    function: str
    arguments: tuple[Expression, ...]


class NumberTexts:
    """Writes numbers; `calls` says which names are calls, and `assign` emits `name = text` for a new name."""

    def __init__(self, assign: Callable[[str], str]) -> None:
        self.assign = assign
        self.calls: dict[str, NumberCall] = {}

    def call(self, function: str, arguments: Sequence[Expression]) -> Expression:
        """Return a call as an expression."""
        name = f"{function}({', '.join(map(repr, arguments))})"
        self.calls[name] = NumberCall(function, tuple(arguments))
        return number_name(name)

    def texts(self, some: Sequence[Expression]) -> list[str]:
        """Return numbers as texts; what several of them have in common becomes a variable first."""
        uses = Counter[Expression]()
        order: dict[Expression, None] = {}

        def visit(node: Expression) -> None:
            uses[node] += 1
            if uses[node] == 1:
                for each in self._parts(node):
                    visit(each)
                order[node] = None

        for each in some:
            visit(each)
        known: dict[Expression, str] = {}
        for node in order:
            if uses[node] > 1 and self._size(node) >= CHEAP and not node.truth:
                known[node] = self.assign(self._text(node, known))
        return [self._text(each, known) for each in some]

    def names_in(self, one: Expression) -> frozenset[str]:
        """Return the texts that a number is made of, those in calls among them."""
        inner = (part for name in one.names if name in self.calls for part in self.calls[name].arguments)
        return one.names.union(*map(self.names_in, inner))

    def text(self, one: Expression) -> str:
        """Return one number as text."""
        return self.texts([one])[0]

    def _parts(self, node: Expression) -> Sequence[Expression]:
        if node.operator == "name" and node.value in self.calls:
            return self.calls[node.value].arguments
        return node.arguments

    def _size(self, node: Expression) -> int:
        if node.operator == "name" and node.value in self.calls:
            return CHEAP + sum(map(self._size, self.calls[node.value].arguments))
        return 1 + sum(map(self._size, node.arguments)) + (node.operator in CALLS) * CHEAP

    def _text(self, node: Expression, known: dict[Expression, str]) -> str:
        """Return a number's text; variables and calls are names to `text_of`, which knows what binds how."""
        if node in known:
            return known[node]
        done: dict[Expression, Expression] = {}

        def atoms(part: Expression) -> None:
            if part in done:
                return
            if part in known:
                done[part] = number_name(known[part])
                return
            if part.constant and isinstance(part.value, int) and part.value.bit_length() > 63:
                done[part] = number_name(repr(float(part.value)))  # a sketch's ints have 64 bits
                return
            if part.constant and part.infinite:
                done[part] = number_name("math.inf" if part.value > 0 else "-math.inf")
                return
            below = {Fraction(coefficient).denominator for coefficient, _ in terms(part)}
            by = below.pop() if len(below) == 1 else 1
            if by & (by - 1) or (by > 1 and not part.constant):  # no decimal, or a mean; a kernel divides no ints
                above = multiply(part, constant(by))
                text = f"{above.value}.0" if above.constant else self._text(above, known)
                done[part] = number_name(f"({text} / {by})" if self._is_atom(above) else f"(({text}) / {by})")
                return
            called = self._called(part)
            if called is None:
                for each in part.arguments:
                    atoms(each)
                return
            inner = ", ".join(self._text(each, known) for each in called.arguments)
            done[part] = number_name(f"{called.function}({inner})")

        atoms(node)
        text = text_of(replaced(node, done) if done else node)
        return text[1:-1] if node in done and text.startswith("(") else text

    def _is_atom(self, node: Expression) -> bool:
        """Tell whether a number's text may be divided as it stands."""
        return node.operator in ("name", "*") or node.constant or self._called(node) is not None

    def _called(self, node: Expression) -> NumberCall | None:
        if node.operator == "name":
            return self.calls.get(node.value)
        if node.operator == "max" and len(node.arguments) == 2 and negate(node.arguments[0]) is node.arguments[1]:
            return NumberCall("abs", node.arguments[:1])
        if node.operator == "select":
            return NumberCall("where", node.arguments)
        return NumberCall(CALLS[node.operator], node.arguments) if node.operator in CALLS else None


def update(own: str, value: Expression) -> tuple[str, Expression] | None:
    """Return the operator and the rest where a value is `own` and something added to it, or multiplied by it."""
    me = number_name(own)
    if value.operator == "+":
        inside = terms(value)
        if sum(what is me and by == 1 for by, what in inside) == 1:
            rest = add(*(multiply(constant(by), what) for by, what in inside if what is not me))
            return None if own in rest.names or rest.infinite else ("+", rest)
    if value.operator == "*" and sum(each is me for each in value.arguments) == 1:
        rest = multiply(*(each for each in value.arguments if each is not me))
        return None if own in rest.names else ("*", rest)
    return None
