"""The makers of symbolic values: integers, Booleans, bit-vectors and real numbers, holes for a query to fill, choices
for it to make, and uninterpreted functions, of which only that equal arguments give equal values is known.

A symbolic value stands for every value that it may have. So it has no truth value, no hash and no index: what
Python would decide at once raises an error that names the call to use instead (`symbolic.core.refusals`).

Division is Python's, for every sign and all kinds of numbers: `//` rounds towards minus infinity, `%` takes the
divisor's sign, and `/` is of fractions. It is total: `x // 0` and `x / 0` are 0, `x % 0` is x
(`symbolic.solve.floor_division`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from msgspec import Struct

from symbolic.core.obligations import demand
from symbolic.core.value_types import (
    BitVector,
    Boolean,
    BooleanLike,
    Integer,
    IntegerLike,
    Real,
    Symbolic,
    as_condition,
    check_width,
    describe,
)
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Model
from symbolic.solve.floor_division import bit_vector_type, manager
from symbolic.solve.tables import Table

if TYPE_CHECKING:
    from pysmt.fnode import FNode
    from pysmt.typing import PySMTType


__all__ = [
    "BitVector", "Boolean", "BooleanLike", "Integer", "Real", "Symbolic",
    "all_of", "any_of", "bitvector", "boolean", "distinct", "exists", "forall", "implies", "integer", "lookup", "real",
    "select",
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


def distinct(*values: Any) -> Boolean:
    """Return a Boolean that is true where no two of the values are equal."""
    return all_of(*(a != b for a, b in combinations(_unify(list(values)), 2))) if values else all_of()


def forall(variables: Symbolic | Sequence[Symbolic], condition: BooleanLike) -> Boolean:
    """Return a Boolean that is true where the condition holds for all values of some symbols, one or a list of them."""
    return _quantified("ForAll", variables, condition)


def exists(variables: Symbolic | Sequence[Symbolic], condition: BooleanLike) -> Boolean:
    """Return a Boolean that is true where the condition holds for some values of some symbols."""
    return _quantified("Exists", variables, condition)


def _quantified(quantifier: str, variables: Symbolic | Sequence[Symbolic], condition: BooleanLike) -> Boolean:
    given: list[Any] = list(variables) if isinstance(variables, list | tuple) else [variables]
    for each in given:
        symbolic = isinstance(each, IntegerLike | Boolean)
        if not symbolic or not each.formula.is_symbol():
            raise SwizzleError(
                f"a quantifier over {each.formula if symbolic else describe(each)}",
                expected="a symbol like integer('x'), or a list of such", fix="forall([x, y], condition)",
            )  # fmt: skip
    m, formula = manager(), as_condition(condition)
    bound = {each.formula: m.FreshSymbol(each.formula.symbol_type(), "bound!%d") for each in given}
    return Boolean(getattr(m, quantifier)(list(bound.values()), formula.substitute(bound)))


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


@overload
def hole() -> Integer: ...
@overload
def hole(*, width: int, signed: bool = False) -> BitVector: ...
def hole(*wrong: object, width: int | None = None, signed: bool = False, **unknown: object) -> Integer | BitVector:
    """Return a fresh constant for `synthesize` to find, Rosette's `??`: an integer, or a bit-vector of a width.

    In a lifted function there is one for each place in the text, so that all its calls mean the same constant.
    """
    from pysmt.typing import INT

    if wrong or unknown or not isinstance(signed, bool):
        raise SwizzleError(
            "hole takes a width and a sign by name", expected="hole(), or hole(width=8, signed=True)",
            fix="integer(name) or bitvector(name, width), where it is to have a name",
        )  # fmt: skip
    if width is None:
        return Integer(manager().FreshSymbol(INT, "hole!%d"))
    check_width(width)
    return BitVector(manager().FreshSymbol(bit_vector_type(width), "hole!%d"), signed)


def boolean_hole() -> Boolean:
    """Return a fresh truth value for `synthesize` to find."""
    from pysmt.typing import BOOL

    return Boolean(manager().FreshSymbol(BOOL, "hole!%d"))


def choose(*alternatives: Any) -> Any:
    """Return one of the alternatives, whichever makes the query succeed.

    Each call chooses anew; in a lifted function each place does, so that all its calls choose alike.
    """
    if not alternatives:
        raise SwizzleError("a choice among nothing", expected="at least one alternative", fix="choose(0, 1)")
    chosen = alternatives[-1]
    for alternative in reversed(alternatives[:-1]):
        chosen = select(boolean_hole(), alternative, chosen)
    return chosen


Kind: TypeAlias = Callable[[str], Symbolic] | Symbolic
"""What values are like: `integer`, `boolean`, `real`, or any symbolic value of the same kind."""


class Function(Struct, frozen=True, eq=False):
    """A function that a query may choose; `outcome[f]` is the Table of what it has chosen."""

    name: str
    takes: tuple[Symbolic, ...]
    gives: Symbolic
    symbol: FNode

    def __call__(self, *arguments: Any) -> Any:
        """Return the value for some arguments, which may be Python numbers."""
        if len(arguments) != len(self.takes):
            raise SwizzleError(
                f"{self.name} is given {len(arguments)} arguments", expected=f"{len(self.takes)}", fix=repr(self)
            )
        given = [
            Boolean(as_condition(value)) if isinstance(like, Boolean) else like.lift(value, exact=True)
            for like, value in zip(self.takes, arguments, strict=True)
        ]
        formula = manager().Function(self.symbol, [each.formula for each in given])
        return Boolean(formula) if isinstance(self.gives, Boolean) else self.gives.like(formula)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(_kind_name, self.takes))}) -> {_kind_name(self.gives)}"

    def evaluated(self, model: Model) -> Table:
        """Return what the function is under a model."""
        found = model.value(self.symbol)
        assert isinstance(found, Table)
        entries = {tuple(map(_shown, self.takes, key)): _shown(self.gives, v) for key, v in found.entries.items()}
        return Table(entries, _shown(self.gives, found.default))


def function(name: str, takes: Sequence[Kind], gives: Kind) -> Function:
    """Return the uninterpreted function of that name, from some kinds of values to one.

    A kind is `integer`, `boolean`, `real`, or a symbolic value that has it: `function("f", [integer, v], v)`.
    """
    from pysmt.environment import get_env
    from pysmt.typing import FunctionType

    if not isinstance(takes, list | tuple) or not takes:
        raise SwizzleError(f"{name} takes {describe(takes)}", expected="a list of kinds", fix="[integer]")
    kinds = [kind_like(each) for each in [*takes, gives]]
    sorts = [get_env().stc.get_type(each.formula) for each in kinds]
    return Function(name, tuple(kinds[:-1]), kinds[-1], symbol_named(name, FunctionType(sorts[-1], sorts[:-1])))


def kind_like(kind: Kind) -> Symbolic:
    """Return a value of a kind."""
    if isinstance(kind, IntegerLike | Boolean):
        return kind
    if kind in (integer, boolean, real):
        return kind("kind!")
    raise SwizzleError(
        f"{describe(kind)} stands for a kind of values", expected="integer, boolean, real, or a symbolic value",
        fix='bitvector("v", 8), for words of 8 bits',
    )  # fmt: skip


def _kind_name(like: Symbolic) -> str:
    return describe(like).removeprefix("a symbolic ").removeprefix("an ").removeprefix("a ")


def _shown(like: Symbolic, value: Any) -> Any:
    from symbolic.solve.evaluate import as_signed

    return as_signed(value, like.width) if isinstance(like, BitVector) and like.signed else value
