"""Which kernels mix: what an operator makes of values that holes decide is decided by a hole again, or goes into more.

Of such values there are too many to be listed, and too many clauses. It is read off the program, without running it.
"""

from __future__ import annotations

from enum import IntEnum

from symbolic.ir.program import (
    Accumulate,
    AccumulatorValue,
    Apply,
    Assign,
    Binary,
    Expr,
    HoleCall,
    Load,
    Program,
    Select,
    Shuffle,
    Store,
    Var,
)
from symbolic.ir.walk import children, statements, subexpressions


class Mixed(IntEnum):
    """What holes have to do with a value."""

    NOT = 0
    CHOSEN = 1  # they choose it
    MADE = 2  # sums and the like of chosen values
    AGAIN = 3  # chosen among made ones, or made of them by another operator than a sum


def mixes(program: Program) -> bool:
    """Say whether some value of a program is made of chosen values, and chosen again."""
    known: dict[str, Mixed] = {}
    while True:
        before = dict(known)
        for stmt in statements(program.body):
            match stmt:
                case Assign(name=name, value=value) | Store(array=name, value=value):
                    _note(known, name, _of(value, known))
                case Accumulate(accumulator=name, operands=operands):
                    some = max(_of(operand, known) for operand in operands)
                    _note(known, name, max(some, Mixed.MADE) if some else some)
        if Mixed.AGAIN in known.values():
            return True
        if known == before:
            return False


def _note(known: dict[str, Mixed], name: str, found: Mixed) -> None:
    known[name] = max(found, known.get(name, Mixed.NOT))


def _of(expr: Expr, known: dict[str, Mixed]) -> Mixed:
    match expr:
        case Var(name=name) | AccumulatorValue(accumulator=name):
            return known.get(name, Mixed.NOT)
        case Load(array=name, indices=indices):
            return _chosen(known.get(name, Mixed.NOT), *indices)
        case Shuffle(value=value, lane=lane):
            return _chosen(_of(value, known), lane)
        case Select(condition=condition, then=then, otherwise=otherwise):
            return _chosen(max(_of(then, known), _of(otherwise, known)), condition)
        case Binary() | Apply() if expr.dtype.is_data:
            found = max((_of(part, known) for part in children(expr)), default=Mixed.NOT)
            if found is Mixed.MADE and not (isinstance(expr, Binary) and expr.op in ("+", "-")):
                return Mixed.AGAIN
            return max(found, Mixed.MADE) if found else found
        case _:
            return max((_of(part, known) for part in children(expr)), default=Mixed.NOT)


def _chosen(value: Mixed, *by: Expr) -> Mixed:
    """Return what a value is that expressions choose, if there are holes in them."""
    if not any(isinstance(part, HoleCall) for each in by for part in subexpressions(each)):
        return value
    return Mixed.AGAIN if value >= Mixed.MADE else Mixed.CHOSEN
