"""Laws of operators, asked of the house and never declared: associative, commutative, what is neutral.

An operator on numbers is two expressions of the house, which its solver layer compares: floats as real numbers,
integers as words that wrap. On tuples it is one expression for each item.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, Protocol, TypeAlias

from symbolic.elements import DType
from symbolic.expressions.expression import Expression, equal, number_name, substituted
from symbolic.expressions.formulas import REALS, Answered, Sort, decide
from symbolic.patterns import terms as t
from symbolic.patterns.terms import Term, canonical, function
from symbolic.patterns.types import NumberOf, TupleOf, ValueType, VectorOf

OperatorLaw: TypeAlias = Literal["associative", "commutative", "neutral"]
EFFORT = 2.0
"""The solver's steps for one law, as many as it does in so many seconds."""


class AskLaw(Protocol):
    """Who is asked whether an operator has a law; `start` is what would be neutral, `element` the type of values."""

    def __call__(self, operator: t.Lambda, law: OperatorLaw, start: Term | None, element: ValueType) -> Answered: ...


def prove_law(operator: t.Lambda, law: OperatorLaw, start: Term | None, element: ValueType) -> Answered:
    """Prove or refute a law of an operator for all values of a type."""
    return _proved(function(canonical(operator)), law, start, element)


@lru_cache(maxsize=1024)
def _proved(operator: t.Lambda, law: OperatorLaw, start: Term | None, element: ValueType) -> Answered:
    kinds = _kinds(element)
    if kinds is None:
        return Answered("unknown", reason=f"an operator on {element}")
    single = not isinstance(element, TupleOf)

    def symbols(name: str) -> _Value:
        made = tuple(number_name(f"{name}{place if not single else ''}") for place in range(len(kinds)))
        return made[0] if single else made

    def combined(x: _Value, y: _Value) -> _Value:
        return _value(operator.body, dict(zip(operator.parameters, (x, y), strict=True)))

    a, b, c = map(symbols, "abc")
    try:
        match law:
            case "associative":
                sides = [(combined(combined(a, b), c), combined(a, combined(b, c)))]
            case "commutative":
                sides = [(combined(a, b), combined(b, a))]
            case "neutral":
                assert start is not None
                zero = _value(start, {})
                sides = [(combined(zero, a), a), (combined(a, zero), a)]
    except (_Unreadable, ArithmeticError) as error:
        return Answered("unknown", reason=str(error) or type(error).__name__)
    claims = [pair for x, y in sides for pair in zip(_words(x), _words(y), strict=True)]
    sorts = {each.value: kind for value in (a, b, c) for each, kind in zip(_words(value), kinds, strict=True)}
    outside = {name for x, y in claims for each in (x, y) for name in each.names} - sorts.keys()
    sorts |= dict.fromkeys(outside, kinds[0])
    return decide([(x, y) for x, y in claims if equal(x, y).value is not True], sorts, effort=EFFORT)


_Value: TypeAlias = Expression | tuple[Expression, ...]


class _Unreadable(Exception):
    """An operator has a part that expressions have no word for."""


def _words(value: _Value) -> tuple[Expression, ...]:
    return value if isinstance(value, tuple) else (value,)


def _kinds(element: ValueType) -> list[Sort] | None:
    """Return the sorts of a value's numbers; a vector's places are numbers by themselves."""
    match element:
        case NumberOf(dtype) | VectorOf(dtype=dtype) if dtype is not DType.BOOL:
            return [_sort(dtype)]
        case TupleOf():
            kinds = [_kinds(each) if isinstance(each, NumberOf) else None for each in element.items]
            known = [kind for each in kinds if each is not None for kind in each]
            return known if len(known) == len(kinds) else None
    return None


def _sort(dtype: DType) -> Sort:
    return REALS if dtype.is_float else Sort("word", dtype.bits, not dtype.is_unsigned)


def _value(term: Term, names: Mapping[str, _Value]) -> _Value:
    """Return what a term computes, as expressions over names."""
    match term:
        case t.Variable():
            return names.get(term.name, number_name(f"{term.name}'"))  # an input: any number
        case t.Tupled():
            items = [_value(each, names) for each in term.items]
            if all(isinstance(each, Expression) for each in items):
                return tuple(each for each in items if isinstance(each, Expression))
        case t.Item():
            of = _value(term.of, names)
            if isinstance(of, tuple):
                return of[term.place]
        case t.Let():
            return _value(term.body, {**names, term.name: _value(term.value, names)})
        case t.Formula():
            given = [_value(each, names) for each in term.arguments]
            known = {f"x{place}": each for place, each in enumerate(given) if isinstance(each, Expression)}
            if len(known) == len(given):
                return substituted(term.expression, known)
        case t.ElementaryCall(function="where_less"):
            raise _Unreadable("where(a < b, ...) is no max, as NaN shows; write maximum(a, b) or minimum(a, b)")
    raise _Unreadable(f"{type(term).__name__} in an operator")
