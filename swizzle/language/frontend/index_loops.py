"""Build index arithmetic and loops for helpers such as `warp_load`; every node has the place of the helper's call."""

from __future__ import annotations

from functools import reduce

from swizzle.language.frontend import operators
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.operators import INDEX
from symbolic.errors import Place
from symbolic.ir.program import Assign, BinaryOp, Compare, Const, Expr, For, Logic, Stmt, Var


class IndexLoops:
    """Builds index expressions, skipping what adds 0 or multiplies by 1, and nests statements in counted loops."""

    def __init__(self, reader: ExpressionReader, place: Place) -> None:
        self.reader, self.place = reader, place
        self.counters: list[tuple[str, int]] = []

    def number(self, value: int) -> Const:
        return Const(value, INDEX, self.place)

    def counter(self, wish: str, count: int) -> Expr:
        """Return the variable of a new loop inside the others, or 0 when the loop would run once."""
        if count == 1:
            return self.number(0)
        name = self.reader.scope.fresh(wish)
        self.counters.append((name, count))
        return Var(name, INDEX, self.place)

    def named(self, wish: str, value: Expr) -> tuple[Var, Assign]:
        """Return a new index variable and the assignment that gives it its value."""
        name = self.reader.scope.fresh(wish)
        return Var(name, INDEX, self.place), Assign(name, value, self.place)

    def add(self, left: Expr, right: Expr) -> Expr:
        return right if _is(left, 0) else left if _is(right, 0) else self._binary("+", left, right)

    def multiply(self, left: Expr, right: int) -> Expr:
        return left if right == 1 or _is(left, 0) else self._binary("*", left, self.number(right))

    def divide(self, left: Expr, right: int) -> Expr:
        return left if right == 1 else self._binary("//", left, self.number(right))

    def modulo(self, left: Expr, right: int) -> Expr:
        return self.number(0) if right == 1 else self._binary("%", left, self.number(right))

    def below(self, left: Expr, right: int) -> Expr:
        return Compare("<", left, self.number(right), self.place)

    def every(self, conditions: list[Expr]) -> Expr:
        return reduce(lambda a, b: Logic("and", a, b, self.place), conditions)

    def _binary(self, op: BinaryOp, left: Expr, right: Expr) -> Expr:
        result = operators.binary(op, left, right, self.place)
        assert not isinstance(result, operators.FloatLiteral)
        return result

    def around(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Return the body inside the loops of all counters, the first one outermost."""
        for name, count in reversed(self.counters):
            body = (For(name, self.number(0), self.number(count), self.number(1), body, self.place),)
        return body


def _is(expr: Expr, value: int) -> bool:
    return isinstance(expr, Const) and expr.value == value
