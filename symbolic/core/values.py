"""Symbolic integers, Booleans and bit-vectors: Python's operators over PySMT formulas.

A symbolic value stands for every value that it may have. So it has no truth value, no hash and no index: what
Python would decide at once raises an error that names the call to use instead (`symbolic.core.refusals`).

Division is Python's, for every sign and for both kinds of numbers: `//` rounds towards minus infinity and `%` takes
the divisor's sign. It is total: `x // 0` is 0 and `x % 0` is x (`symbolic.solve.floor_division`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symbolic.core.obligations import demand
from symbolic.core.value_types import BitVector, Boolean, BooleanLike, Integer, Symbolic, as_condition
from symbolic.errors import SwizzleError
from symbolic.solve.floor_division import manager

if TYPE_CHECKING:
    from pysmt.fnode import FNode
    from pysmt.typing import PySMTType

__all__ = [
    "BitVector", "Boolean", "BooleanLike", "Integer", "Symbolic",
    "all_of", "any_of", "bitvector", "boolean", "implies", "integer", "lookup", "select",
]  # fmt: skip


def integer(name: str) -> Integer:
    """Return the symbolic integer of that name."""
    from pysmt.typing import INT

    return Integer(_symbol(name, INT))


def boolean(name: str) -> Boolean:
    """Return the symbolic Boolean of that name."""
    from pysmt.typing import BOOL

    return Boolean(_symbol(name, BOOL))


def bitvector(name: str, width: int, *, signed: bool = False) -> BitVector:
    """Return the symbolic bit-vector of that name; `width` in bits."""
    from pysmt.typing import BVType

    if width < 1:
        raise SwizzleError(f"the bit-vector {name!r} is {width} bits wide", expected="at least 1")
    return BitVector(_symbol(name, BVType(width)), signed)


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
    if not sequence:
        raise SwizzleError("a look-up in an empty sequence", expected="at least one element")
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


def _symbol(name: str, kind: PySMTType) -> FNode:
    from pysmt.exceptions import PysmtTypeError

    try:
        return manager().Symbol(name, kind)
    except PysmtTypeError:  # of another kind before: a symbol by itself
        return manager().Symbol(f"{name}: {kind}", kind)


def _unify(values: list[Any]) -> list[Any]:
    """Lift Python numbers to the kind of the symbolic values beside them; every element is of one kind after."""
    model = next((v for v in values if isinstance(v, Integer | Boolean | BitVector)), None)
    if model is None:
        model = Boolean(manager().TRUE()) if isinstance(values[0], bool) else Integer(manager().Int(0))
    if isinstance(model, Boolean):
        return [Boolean(as_condition(value)) for value in values]
    return [model.lift(value, exact=True) for value in values]


def _with_formula(like: Any, formula: FNode) -> Any:
    return Boolean(formula) if isinstance(like, Boolean) else like.like(formula)
