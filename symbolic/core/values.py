"""Symbolic integers, Booleans, bit-vectors and real numbers: Python's operators over PySMT formulas.

A symbolic value stands for every value that it may have. So it has no truth value, no hash and no index: what
Python would decide at once raises an error that names the call to use instead (`symbolic.core.refusals`).

Division is Python's, for every sign and all kinds of numbers: `//` rounds towards minus infinity, `%` takes the
divisor's sign, and `/` is of fractions. It is total: `x // 0` and `x / 0` are 0, `x % 0` is x
(`symbolic.solve.floor_division`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symbolic.core.obligations import demand
from symbolic.core.value_types import (
    BitVector,
    Boolean,
    BooleanLike,
    Integer,
    Real,
    Symbolic,
    as_condition,
    check_width,
    describe,
)
from symbolic.errors import SwizzleError
from symbolic.solve.floor_division import bit_vector_type, manager

if TYPE_CHECKING:
    from pysmt.fnode import FNode
    from pysmt.typing import PySMTType

__all__ = [
    "BitVector", "Boolean", "BooleanLike", "Integer", "Real", "Symbolic",
    "all_of", "any_of", "bitvector", "boolean", "implies", "integer", "lookup", "real", "select",
]  # fmt: skip


def integer(name: str) -> Integer:
    """Return the symbolic integer of that name."""
    from pysmt.typing import INT

    return Integer(symbol_named(name, INT))


def boolean(name: str) -> Boolean:
    """Return the symbolic Boolean of that name."""
    from pysmt.typing import BOOL

    return Boolean(symbol_named(name, BOOL))


def real(name: str) -> Real:
    """Return the symbolic real number of that name; models have it as a Fraction."""
    from pysmt.typing import REAL

    return Real(symbol_named(name, REAL))


def bitvector(name: str, width: int, *, signed: bool = False) -> BitVector:
    """Return the symbolic bit-vector of that name; `width` in bits."""
    check_width(width)
    return BitVector(symbol_named(name, bit_vector_type(width)), signed)


def select(condition: BooleanLike, yes: Any, no: Any) -> Any:
    """Return `yes` where the condition holds, else `no`: the `if` of symbolic values.

    The two are of one kind; one of them may be a Python number, and both may be when `condition` is symbolic
    (they become Integers, or Booleans).
    """
    test, (a, b) = as_condition(condition), _unify([yes, no])
    formula = a.formula if a.formula is b.formula else manager().Ite(test, a.formula, b.formula)
    return _with_formula(a, formula)


def lookup(sequence: Any, index: Integer | BitVector) -> Any:
    """Return `sequence[index]` for a symbolic index, which is demanded to be neither negative nor too large.

    Raises SwizzleError where it may be, and no `with obligations()` is around to hold that.
    """
    if not isinstance(sequence, list | tuple | range | str):
        raise SwizzleError(f"a look-up in {describe(sequence)}", expected="a list or tuple", fix="list(...)")
    if not isinstance(index, Integer | BitVector):
        raise SwizzleError(
            f"a look-up of {describe(index)}",
            expected="an Integer or a BitVector",
            fix="sequence[index], of a Python int",
        )
    if not sequence:
        raise SwizzleError(
            "a look-up in an empty sequence", expected="at least one element", fix="look whether it is empty before"
        )
    low, high = index.bounds if isinstance(index, BitVector) else (-1, len(sequence))
    reachable = high + 1
    if low < 0:
        demand(index >= 0, "lookup: a negative index")
    if high >= len(sequence):
        demand(index < len(sequence), f"lookup: an index past the last of {len(sequence)} elements")
    elements = _unify(list(sequence)[:reachable])
    result = elements[-1]
    for place in reversed(range(len(elements) - 1)):
        result = select(index == place, elements[place], result)
    return result


def implies(premise: BooleanLike, conclusion: BooleanLike) -> Boolean:
    """Return a Boolean that is false only where the premise holds and the conclusion does not."""
    return Boolean(manager().Implies(as_condition(premise), as_condition(conclusion)))


def all_of(*conditions: BooleanLike) -> Boolean:
    """Return the conjunction; of nothing it is true."""
    return Boolean(manager().And([as_condition(condition) for condition in conditions]))


def any_of(*conditions: BooleanLike) -> Boolean:
    """Return the disjunction; of nothing it is false."""
    return Boolean(manager().Or([as_condition(condition) for condition in conditions]))


def symbol_named(name: str, kind: PySMTType) -> FNode:
    """Return the symbol of a name and sort."""
    from pysmt.exceptions import PysmtTypeError

    if not isinstance(name, str) or not name:
        raise SwizzleError(f"a name that is {describe(name)}", expected="a text, not empty", fix='"x"')
    try:
        return manager().Symbol(name, kind)
    except PysmtTypeError:  # of another kind before: a symbol by itself
        return manager().Symbol(f"{name}: {kind}", kind)


def _unify(values: list[Any]) -> list[Any]:
    """Lift Python numbers to the kind of the symbolic values beside them; every element is of one kind after."""
    model = next((v for v in values if isinstance(v, Integer | Boolean | BitVector | Real)), None)
    if (model is None or isinstance(model, Integer)) and any(isinstance(v, Real | Fraction) for v in values):
        model = Real(manager().Real(0))
    if model is None:
        model = Boolean(manager().TRUE()) if isinstance(values[0], bool) else Integer(manager().Int(0))
    if isinstance(model, Boolean):
        return [Boolean(as_condition(value)) for value in values]
    return [model.lift(value, exact=True) for value in values]


def _with_formula(like: Any, formula: FNode) -> Any:
    return Boolean(formula) if isinstance(like, Boolean) else like.like(formula)
