"""Divisions of floats by constants, which are printed as products with the reciprocal.

Floats count as real numbers. Such a product is within 1.5 units in the last place of the quotient. IEEE's division is
within half a unit; it takes ten instructions, and a function of a hundred more for numbers that are not normal.
"""

from __future__ import annotations

from collections.abc import Iterator

from cuda_out.c.types import reciprocal
from cuda_out.passes.finals import inline_finals
from symbolic.ir.program import Binary, Const, Program, Stmt
from symbolic.ir.walk import own_expressions, statements, subexpressions


def products(program: Program) -> Iterator[tuple[Stmt, Binary]]:
    """Yield each quotient that is printed as a product, with the statement that it stands in."""
    if program.ieee_division:
        return
    for stmt in statements(inline_finals(program).body):
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                match part:
                    case Binary(op="/", right=Const(value=value), dtype=dtype) if reciprocal(float(value), dtype):
                        yield stmt, part
                    case _:
                        pass
