"""What a variable of a lifted function may hold that Python has no word for, and the way in and out.

Inside, a list is an `Items`, which nothing changes; ints that are one of a few are a `Union` of them
(`symbolic.values.union`), and values that do not become one are `Alternatives`. Outside, in the hands of who called,
lists are lists again and a union of ints is an Integer, whose formula is remembered, so that it is a union when it
comes back.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Struct
from pysmt.fnode import FNode

from symbolic.core.functions import Function
from symbolic.core.outcome import evaluated
from symbolic.core.refusals import refuse
from symbolic.core.structures import fields_of, is_record, mapped
from symbolic.core.value_types import BitVector, Boolean, Integer, Number, Real
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Closure
from symbolic.solve.answer import Model
from symbolic.solve.floor_division import manager
from symbolic.values.guard import Guard
from symbolic.values.union import Union

FOREIGN: Final = 0
"""The name of every list that was there before the outermost lifted function was called."""
_names = itertools.count(1)


def new_name() -> int:
    """Return the name of a list that is made now; later ones have greater names."""
    return next(_names)


class Items(Struct, frozen=True, eq=False):
    """A list. `names` are the lists that it may be (several after paths have met), `inner` those of lists in it."""

    items: tuple[Any, ...]
    names: frozenset[int]

    @staticmethod
    def new(items: Any) -> Items:
        """Return a list that was not there before."""
        return Items(tuple(items), frozenset({new_name()}))

    @property
    def inner(self) -> frozenset[int]:
        """The names of all lists in it, and in what is in it."""
        return frozenset[int]().union(*map(names_in, self.items))


def names_in(value: Any) -> frozenset[int]:
    """Return the names of all lists that a value is or holds."""
    match value:
        case Items():
            return value.names | value.inner
        case tuple():
            return frozenset[int]().union(*map(names_in, value))
        case Alternatives():
            return frozenset[int]().union(*(names_in(part) for _, part in value.parts))
        case Closure():
            seen = [*value.captured.values(), *value.defaults.values()]
            return frozenset[int]().union(*(names_in(each) for each in seen if each is not value))
    return frozenset[int]().union(*map(names_in, fields_of(value).values())) if is_record(value) else frozenset()


class Alternatives(Struct, frozen=True, eq=False):
    """Values of several kinds, each under a guard: guards are exclusive and exhaustive, kinds distinct, none nested."""

    parts: tuple[tuple[Guard, Any], ...]

    def __repr__(self) -> str:
        return f"one of {', '.join(repr(part) for _, part in self.parts)}"

    def evaluated(self, model: Model) -> Any:
        """Return the value that it has under a model."""
        for guard, part in self.parts:
            if model.value(conditions().formula(guard)):
                return evaluated(part, model)
        raise AssertionError("guards are exhaustive")

    def _refuse(self, *_: object) -> Any:
        kinds = " or ".join(sorted({type(part).__name__ for _, part in self.parts}))
        refuse(
            f"a value that is {kinds}, depending on a condition, has no operations outside of lifted functions",
            "use it in a @lifted function, or outcome[value] once a query has answered",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copy, pickle and the like look for
            raise AttributeError(name)
        return self._refuse()

    __bool__ = __len__ = __iter__ = __getitem__ = __eq__ = __hash__ = __call__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def is_plain(value: Any) -> bool:
    """Tell whether Python itself can compute with a value."""
    match value:
        case Boolean() | Number() | Function() | Alternatives() | Union():
            return False
        case tuple() | list():
            return all(map(is_plain, value))
        case dict():
            return all(map(is_plain, value.values()))
    return all(map(is_plain, fields_of(value).values())) if is_record(value) else True


# ---- in and out ------------------------------------------------------------------------------------------------

_UNIONS: WeakKeyDictionary[object, dict[FNode, Union]] = WeakKeyDictionary()


def inward(value: Any, names: frozenset[int] | None = None) -> Any:
    """Return a value as the machine holds it; lists get these names, new ones when there are none."""
    match value:
        case list():
            own = names or frozenset({new_name()})
            return Items(tuple(inward(item, names) for item in value), own)
        case Integer():
            return _UNIONS.get(manager(), {}).get(value.formula, value)
        case Alternatives():
            return Alternatives(tuple((guard, inward(part, names)) for guard, part in value.parts))
        case Boolean() if value.formula.is_bool_constant():
            return value.formula.is_true()
    return mapped(lambda item: inward(item, names), value)


def outward(value: Any) -> Any:
    """Return a value as its user holds it."""
    match value:
        case Items():
            return [outward(item) for item in value.items]
        case Union():
            return as_integer(value)
        case Alternatives():
            return Alternatives(tuple((guard, outward(part)) for guard, part in value.parts))
    return mapped(outward, value)


Bounds: TypeAlias = tuple[float, float]
_BOUNDS: WeakKeyDictionary[object, dict[FNode, Bounds]] = WeakKeyDictionary()


def note_bounds(value: Integer, bounds: Bounds) -> None:
    """Remember between which ints a value lies."""
    if not value.formula.is_constant():
        _BOUNDS.setdefault(manager(), {})[value.formula] = bounds


def bounds_of(value: Any) -> Bounds:
    """Return the least and the greatest int that a number may be, as far as is known."""
    match value:
        case Union():
            return min(value.values), max(value.values)
        case BitVector():
            return value.bounds
        case Integer():
            return _BOUNDS.get(manager(), {}).get(value.formula, (-math.inf, math.inf))
        case Real():
            return -math.inf, math.inf
    return value, value


def as_integer(value: Any) -> Any:
    """Return a union of ints, or an int, as one Integer; any other value as it is."""
    if type(value) is int:
        return Integer(manager().Int(value))
    if not isinstance(value, Union):
        return value
    formula = union_formula(value, manager().Int)
    _UNIONS.setdefault(manager(), {})[formula] = value
    return Integer(formula)


def as_bits(value: Any, like: BitVector) -> Any:
    """Return an int or a union of them as bit-vectors of a kind; SwizzleError where one does not fit."""
    if type(value) is int:
        return like.lift(value, exact=True)
    if not isinstance(value, Union):
        return value
    return like.like(union_formula(value, lambda number: like.lift(number, exact=True).formula))


def union_formula(union: Union, constant: Callable[[int], FNode]) -> FNode:
    """Return the formula of a union whose values become constants."""
    *others, (last, _) = union.values.items()
    formula = constant(last)
    for value, guard in reversed(others):
        formula = manager().Ite(conditions().formula(guard), constant(value), formula)
    return formula
