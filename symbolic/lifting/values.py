"""Values of lifted functions for which Python has no type, and their conversion from and to the values that users have.

Inside, a list is an `Items`, which nothing changes; ints that are one of a few are a `Union` of them
(`symbolic.values.union`), and values that do not become one are `Alternatives`. Outside, in the hands of who called,
lists are lists again and a union of ints is an Integer, whose formula is remembered, so that it is a union when it
comes back.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Struct
from typing_extensions import Self

from symbolic.core.outcome import evaluated
from symbolic.core.refusals import refuse
from symbolic.core.structures import fields_of, has_fields, is_record, mapped, record
from symbolic.core.value_types import BitVector, Boolean, Integer, IntegerLike, Real, as_condition, describe
from symbolic.core.values import Function
from symbolic.errors import SwizzleError
from symbolic.lifting.conditions import conditions
from symbolic.lifting.environment import Closure
from symbolic.solve.answer import Model
from symbolic.solve.floor_division import manager
from symbolic.values.guard import Guard
from symbolic.values.union import Union

if TYPE_CHECKING:
    from pysmt.fnode import FNode

FOREIGN: Final = 0
"""The name of every list that was there before the outermost lifted function was called."""
_names = itertools.count(1)


def new_name() -> int:
    """Return the name of a list that is made now; later ones have greater names."""
    return next(_names)


_THEIRS: Final = frozenset({FOREIGN})
NO_NAMES: Final[frozenset[int]] = frozenset()


class Mutable:
    """What may change while several hold it: a list, a record, a name that functions share. The value never does: a
    change makes another version.

    `names` are the lists (or records) that it may be (several after paths have met), `inner` those of what is in it.
    The newest version of a list has its cells, and those before it note in what they differ (Baker, 'Shallow binding
    makes functional arrays fast', 1991), so that a change takes as long as what changes.
    """

    __slots__ = ("_cells", "_distinct", "_inner", "_newer", "_tuple", "names")

    def __init__(self, items: Iterable[Any], names: frozenset[int]) -> None:
        self.names = names
        self._tuple: tuple[Any, ...] | None = tuple(items)
        self._cells: list[Any] | None = None
        self._newer: tuple[Mutable, int, int, list[Any]] | None = None  # where its cells are, and which differ how
        self._inner: frozenset[int] | None = None
        self._distinct: bool | None = None

    def like(self, items: Iterable[Any], names: frozenset[int]) -> Self:
        """Return the same kind of thing with other items."""
        return type(self)(items, names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.items)!r})"

    def __len__(self) -> int:
        return len(self.items if self._cells is None else self._cells)

    @property
    def items(self) -> tuple[Any, ...]:
        """The elements."""
        if self._tuple is None:
            differing: list[tuple[int, int, list[Any]]] = []
            version: Mutable = self
            while version._tuple is None and version._newer is not None:
                version, start, stop, old = version._newer
                differing.append((start, stop, old))
            cells = list(version._cells if version._tuple is None else version._tuple)  # type: ignore[arg-type]
            for start, stop, old in reversed(differing):
                cells[start:stop] = old
            self._tuple, self._newer = tuple(cells), None
        return self._tuple

    def at(self, place: int) -> Any:
        """Return the element at an index that is not negative and not too large."""
        return self.items[place] if self._cells is None else self._cells[place]

    def edited(self, start: int, stop: int, values: Sequence[Any]) -> Self:
        """Return the list with other elements from one index up to another; it is the same list."""
        cells = list(self.items) if self._cells is None else self._cells
        old = cells[start:stop]
        cells[start:stop] = values
        new = self.like((), self.names)
        new._tuple, new._cells = None, cells
        if self._cells is not None and self._tuple is None:
            self._newer = new, start, start + len(values), old
        self._cells = None
        if _names_in_all(values) == _names_in_all(old):
            new._inner = self._inner
            if all(DIRECT[type(value)] or (len(values) == 1 and isinstance(value, Mutable) and value.distinct)
                   for value in values):  # fmt: skip
                new._distinct = self._distinct
        return new

    @property
    def inner(self) -> frozenset[int]:
        """The names of all lists in it, and in what is in it."""
        if self._inner is None:
            self._inner = list_names(self.items)
        return self._inner

    @property
    def distinct(self) -> bool:
        """Whether no list is at two places in it."""
        if self._distinct is None:
            self._distinct = has_no_aliases(self.items)
        return self._distinct


class Items(Mutable):
    """A list."""

    __slots__ = ()

    @staticmethod
    def new(items: Iterable[Any]) -> Items:
        """Return a list that was not there before."""
        return Items(items, frozenset((new_name(),)))


class Fields(Mutable):
    """A record whose fields may be set, an instance of a dataclass that is not frozen; its items are the fields."""

    __slots__ = ("kind",)

    def __init__(self, items: Iterable[Any], names: frozenset[int], kind: Any) -> None:
        super().__init__(items, names)
        self.kind = kind

    def like(self, items: Iterable[Any], names: frozenset[int]) -> Fields:
        return Fields(items, names, self.kind)

    def place(self, name: str) -> int | None:
        """Return which item a field is; None where there is no such field."""
        return next((place for place, each in enumerate(fields(self.kind)) if each.name == name), None)

    def has(self, name: str) -> bool:
        """Tell whether there is such a field, or something else of that name in the class."""
        return self.place(name) is not None or hasattr(self.kind, name)

    @property
    def record(self) -> Any:
        """A record with these fields as they are here."""
        return record(self.kind, {each.name: item for each, item in zip(fields(self.kind), self.items, strict=True)})


class SharedName(Mutable):
    """A name that inner functions share with the function that assigns it: its one item is what it holds."""

    __slots__ = ()


def _names_in_all(values: Sequence[Any]) -> frozenset[int]:
    return list_names(values[0]) if len(values) == 1 else list_names(tuple(values))


def has_no_aliases(value: Any) -> bool:
    """Tell whether no list is at two places in a value, as far as lists and tuples go."""
    met, pending = set[int](), [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Mutable):
            if not met.isdisjoint(each.names):
                return False
            met |= each.names
        inside = each.items if isinstance(each, Mutable) else parts_inside(each) or ()
        pending += [part for part in inside if not DIRECT[type(part)]]
    return True


def list_names(value: Any) -> frozenset[int]:
    """Return the names of all lists that a value is or holds."""
    if DIRECT[type(value)]:
        return NO_NAMES
    if type(value) is Items:
        return value.names | value.inner if value.inner else value.names
    found, met, pending = NO_NAMES, set[int](), [value]
    while pending:
        each = pending.pop()
        if DIRECT[type(each)] or id(each) in met:
            continue
        met.add(id(each))
        match each:
            case Mutable():
                found = found | each.names | each.inner
            case tuple():
                pending += each
            case dict():
                pending += each.values()
            case Alternatives():
                pending += [part for _, part in each.parts]
            case Closure():
                pending += [*each.captured.values(), *each.defaults.values()]
            case _ if is_record(each):
                pending += fields_of(each).values()
    return found


class Alternatives(Struct, frozen=True, eq=False):
    """Values of several kinds, each under a guard: guards are exclusive and exhaustive, kinds distinct, none nested."""

    parts: tuple[tuple[Guard, Any], ...]

    def __repr__(self) -> str:
        return f"one of {', '.join(repr(part) for _, part in self.parts)}"

    def cases(self) -> list[tuple[Boolean, Any]]:
        """Return when it is which value."""
        return [(Boolean(conditions().formula(guard)), outward(part)) for guard, part in self.parts]

    def evaluated(self, model: Model) -> Any:
        """Return the value that it has under a model."""
        for guard, part in self.parts:
            if model.value(conditions().formula(guard)):
                return evaluated(part, model)
        raise AssertionError("guards are exhaustive")

    def __eq__(self, other: object) -> Any:
        """Return when it is equal to a value, where Python can say so of each case: enums, None, numbers, text."""
        found: list[tuple[Guard, FNode]] = []
        for guard, part in self.parts:
            if isinstance(other, Alternatives):
                same: Any = other == outward(part)
            elif isinstance(part, Mutable | tuple) or is_record(part) or not isinstance(
                same := outward(part) == other, Boolean | bool
            ):  # fmt: skip
                return self._refuse()
            found.append((guard, as_condition(same)))
        m = manager()
        return Boolean(m.Or([m.And(conditions().formula(guard), formula) for guard, formula in found]))

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

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

    __bool__ = __len__ = __iter__ = __getitem__ = __hash__ = __call__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


class SymbolicRange(Struct, frozen=True):
    """A range whose ends depend on conditions."""

    start: Any
    stop: Any
    step: int


class _Direct(dict[type, bool]):
    """Of each type, whether its values are computed with as Python does, and hold no others: numbers and data."""

    def __missing__(self, kind: type) -> bool:
        found = kind in (int, bool, float, type(None)) or is_data(kind)
        self[kind] = found
        return found


def is_data(kind: type) -> bool:
    """Tell whether values of a type are data, which functions compute with but never branch on: NumPy's numbers,
    and whatever has a `reduce_with`."""
    return hasattr(kind, "reduce_with") or (hasattr(kind, "dtype") and not hasattr(kind, "__len__"))


def is_data_condition(value: Any) -> bool:
    """Tell whether a value compares data: NumPy's truth values, and what has two sides."""
    return str(getattr(value, "dtype", "")) == "bool" or hasattr(type(value), "sides")


DIRECT: Final = _Direct()


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an array, or () of anything else."""
    if DIRECT[type(value)] or isinstance(value, Items | tuple | Alternatives):
        return ()
    shape = getattr(value, "shape", ())
    return shape if isinstance(shape, tuple) and hasattr(type(value), "__getitem__") else ()


def kind_of(value: Any) -> str:
    """Return what an error calls a value that was not what was needed."""
    match value:
        case None:
            return "None"
        case bool():
            return "a condition"
        case int():
            return "an int"
        case _ if type(value) is float:
            return "a float"
        case Items():
            return "a list"
        case Fields():
            return "a record"
        case tuple() | range() | slice() | str():
            return f"a {type(value).__name__}"
        case _ if callable(value):
            return "a function"
    return "an array" if shape_of(value) else "data"


def said(value: Any) -> str:
    """Return what an error calls a value: in full where it is short."""
    pending = [value]
    for _ in range(20):
        if not pending:
            return kind_of(value) if shape_of(value) else describe(outward(value))
        pending += (parts_inside(pending.pop()) or ())[:20]
    return kind_of(value)


def parts_inside(value: Any) -> tuple[Any, ...] | None:
    """Return what is in a list or tuple; None of anything else."""
    return value.items if isinstance(value, Items) else value if isinstance(value, tuple) else None


def is_plain(value: Any) -> bool:
    """Tell whether Python itself can compute with a value."""
    pending, met = [value], set[int]()
    while pending:
        each = pending.pop()
        if DIRECT[type(each)] or id(each) in met:
            continue
        met.add(id(each))
        match each:
            case Boolean() | IntegerLike() | Function() | Alternatives() | Union():
                return False
            case tuple() | list():
                pending += each
            case dict():
                pending += each.values()
            case _ if has_fields(each):
                pending += fields_of(each).values()
    return True


# ---- in and out ------------------------------------------------------------------------------------------------

_UNIONS: WeakKeyDictionary[object, dict[FNode, Union]] = WeakKeyDictionary()


class OwnLists:
    """The lists that who calls has given, by `id`, each with the name that it has here; which of them have changed."""

    def __init__(self) -> None:
        self.lists: dict[int, tuple[int, Any]] = {}
        self.changed: set[int] = set()
        self.within: set[int] = set()
        self.around = _own.get()

    def number(self, given: Any) -> int:
        """Return the name of a list or record that is given."""
        return self.lists.setdefault(id(given), (new_name(), given))[0]

    def met(self, again: Any) -> int:
        """Return the name of a list that is met by another way; SwizzleError where it has changed since."""
        number, own = self.lists.get(id(again), (FOREIGN, again))[0], self
        while own.around is not None:
            own = own.around
            if own.lists.get(id(again), (FOREIGN, again))[0] in own.changed:
                _stale()
        return _stale() if number in self.changed else number


def _stale() -> NoReturn:
    raise SwizzleError(
        "a list that was given, and has changed, is met again by another way", expected="one way to it",
        fix="use the parameter",
    )  # fmt: skip


_own: ContextVar[OwnLists | None] = ContextVar("own lists", default=None)


@contextmanager
def own_lists() -> Iterator[OwnLists]:
    """Note the lists that who calls gives to a function."""
    own = OwnLists()
    token = _own.set(own)
    try:
        yield own
    finally:
        _own.reset(token)


def note_changed(numbers: Iterable[int]) -> None:
    """Note that lists have changed."""
    own = _own.get()
    if own is not None:
        own.changed.update(numbers)


def inward(value: Any, names: frozenset[int] | None = None, own: OwnLists | None = None) -> Any:
    """Return a value as the interpreter holds it; its lists get these names, or new ones where none are given; a list
    that is met again has its name from before, where these are noted (`own`)."""
    if DIRECT[type(value)]:
        return value
    match value:
        case list():
            items, their_names = _taken_in(value, value, names, own)
            return Items(items, their_names)
        case dict() if own is not None:
            made = {key: inward(item, names, own) for key, item in value.items()}
            return made if any(made[key] is not value[key] for key in value) else value
        case Integer():
            return _UNIONS.get(manager(), {}).get(value.formula, value)
        case Alternatives():
            return Alternatives(tuple((guard, inward(part, names)) for guard, part in value.parts))
        case Boolean() if value.formula.is_bool_constant():
            return value.formula.is_true()
        case _ if has_fields(value) and not is_record(value):
            items, their_names = _taken_in(value, fields_of(value).values(), names, own)
            return Fields(items, their_names, type(value))
    return mapped(lambda item: inward(item, names, own), value)


def _taken_in(
    holder: Any, inside: Iterable[Any], names: frozenset[int] | None, own: OwnLists | None
) -> tuple[list[Any], frozenset[int]]:
    """Return what is in a list or record as the interpreter holds it, and the names that this has."""
    around = own or _own.get()
    within = set[int]() if around is None else around.within
    if id(holder) in within:
        raise SwizzleError(
            f"a {type(holder).__name__} that holds itself is given", expected="lists and records without cycles",
            fix="the place of the other in a list, in place of the other",
        )  # fmt: skip
    within.add(id(holder))
    try:
        if own is not None:
            number = own.number(holder)
            return [inward(item, names, own) for item in inside], frozenset({number})
        if names is not None and around is not None:
            names = frozenset({around.met(holder)})
        return [inward(item, names and _THEIRS) for item in inside], names or frozenset({new_name()})
    finally:
        within.remove(id(holder))


def outward(value: Any) -> Any:
    """Return a value in the form in which users hold it."""
    match value:
        case Items():
            return [outward(item) for item in value.items]
        case Fields():
            return mapped(outward, value.record)
        case dict():
            shown = {key: outward(item) for key, item in value.items()}
            return shown if any(shown[key] is not value[key] for key in value) else value
        case Union():
            return as_integer(value)
        case Alternatives():
            return Alternatives(tuple((guard, outward(part)) for guard, part in value.parts))
    return mapped(outward, value)


IntegerBounds: TypeAlias = tuple[float, float]
_BOUNDS: WeakKeyDictionary[object, dict[FNode, IntegerBounds]] = WeakKeyDictionary()


def note_bounds(value: Integer, bounds: IntegerBounds) -> None:
    """Remember between which ints a value lies."""
    if not value.formula.is_constant():
        _BOUNDS.setdefault(manager(), {})[value.formula] = bounds


def bounds_of(value: Any) -> IntegerBounds:
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
