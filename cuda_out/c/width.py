"""Which indices need 64 bits: the language's integers are unbounded, but C's `int` overflows silently.

An index is a `long long` in the text unless the ranges show that it and every intermediate value fit an `int`.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, launch_facts, range_of, rewrite, trip_range
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, children

INT: Final = (-(2**31), 2**31 - 1)


def is_wide(expr: Expr, facts: Facts, names: Set[str]) -> bool:
    """Say whether an index is a `long long` in C; `names` are the variables that are `long long`."""
    if expr.dtype is not DType.INDEX:
        return False
    match expr:
        case ir.Const(value=value):
            return not -(2**31) <= value < 2**32  # what lies between is a 32-bit mask
        case ir.Var(name=name):
            return name in names
        case ir.Binary(op="%", left=left, right=right):
            # C divides for a remainder: the least int by -1 overflows.
            quotient = range_of(left, facts).floor_div(range_of(right, facts))
            return not quotient.within(*INT) or _any(expr, facts, names)
        case ir.Unary(op="-" | "abs") | ir.Binary(op="+" | "-" | "*" | "//" | "<<"):
            return not range_of(expr, facts).within(*INT) or _any(expr, facts, names)
        case ir.Unary() | ir.Binary() | ir.Select():
            return _any(expr, facts, names)
        case _:
            return False


def _any(expr: Expr, facts: Facts, names: Set[str]) -> bool:
    return any(is_wide(child, facts, names) for child in children(expr))


def wide_names(program: Program) -> frozenset[str]:
    """Return the variables of a program that hold wide indices, loop variables included."""
    found: set[str] = set()
    while True:
        known = frozenset(found)

        def visit(stmt: Stmt, facts: Facts, known: frozenset[str] = known) -> Body:
            match stmt:
                case ir.Assign(name=name, value=value) if is_wide(value, facts, known):
                    found.add(name)
                case ir.For(variable=variable):
                    trip = trip_range(stmt, facts)
                    if trip is not None and not trip.within(*INT):
                        found.add(variable)
                case _:
                    pass
            return (stmt,)

        rewrite(program.body, launch_facts(program), visit)
        if found == known:
            return known
