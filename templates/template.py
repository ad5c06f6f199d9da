"""What a hole may become: the base class of all templates, and what they share.

A template is made for one hole: its size, the points at which the kernel asks it, and a space (paper, section 5.4). It
denotes a finite set of functions on those points. Constants that give the same behaviour at every point are kept once,
the simplest first. Columns of values at the points have a number of 64 bits for a key, which few others have.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.chooser import MOST_ROWS, Choice, Chooser, ColumnChooser, Functions, Rows
from templates.holes import Point as Point

T = TypeVar("T")
Points: TypeAlias = "Sequence[Point] | npt.NDArray[np.int64]"
"""Points, or an array with a line for each of them."""
ValuesThere: TypeAlias = "Sequence[Any] | npt.NDArray[np.int64]"
"""Of points, in their order, None where a value is free; or an array, with -1 there."""


class Template:
    """A finite space of functions from points to values."""

    components: tuple[tuple[Any, ...], ...]
    tabled: ClassVar[bool] = False
    """Whether the simplest choice is found faster among its `functions` than by `simplest`."""

    def at(self, chooser: Chooser[T], point: Point) -> T:
        """Return the hole's value at a point, in whatever way the chooser computes."""
        raise NotImplementedError

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        """Return the hole's values on lanes of arguments, for a choice that is made: the oracle of `at`."""
        raise NotImplementedError

    def tables(self, choices: Sequence[Choice], columns: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """Return what `apply` does for some choices, a line each; of `columns` there is one for each argument."""
        found = [np.broadcast_to(np.asarray(self.apply(c, columns), np.int64), len(columns[0])) for c in choices]
        return np.array(found, np.int64).reshape(len(choices), len(columns[0]))

    @property
    def some(self) -> Choice:
        """Any choice; the cheaper it is to be had, the better."""
        return tuple(each[0] for each in self.components)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        """Return the chosen function of these arguments as an index expression."""
        raise NotImplementedError

    def constants(self, choice: Choice) -> Mapping[str, int]:
        """Return a choice as named numbers: what solution files keep of it."""
        raise NotImplementedError

    def parse(self, constants: Mapping[str, object]) -> Choice:
        """Return the choice that has these constants, whatever a file says; ValueError where they are none."""
        raise NotImplementedError

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        """Return what the chosen function of arguments of these names does, in words."""
        raise NotImplementedError

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        """Return the choice with the simplest formula that has these values, or None. A value None is free.

        Unless a template knows better, it is the first one of the least weight.
        """
        found = matching(self, points, values)
        best = min(range(len(found)), key=lambda row: self.weight(found.choice(row)), default=None)
        return None if best is None else found.choice(best)

    def recognised(self, points: Points, values: ValuesThere) -> Choice | None:
        """Return a choice with these values where it is seen at a glance; None says nothing.

        A value None is free; points and values may be arrays (`known_values`).
        """
        if self.size() > FEW_CHOICES:
            return None
        if isinstance(values, np.ndarray):
            values = [value if value >= 0 else None for value in values.tolist()]
        return self.simplest([tuple(map(int, point)) for point in points], values)

    def lightest(self) -> Iterator[Choice]:
        """Yield choices that are worth a try, those with light formulas first; not all, and perhaps none."""
        if self.size() <= FEW_CHOICES:
            yield from sorted(itertools.product(*self.components), key=self.weight)

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        """Say how heavy a choice's formula is to read: tuples that are compared."""
        return ()

    def restricted(self, strides: bool = False) -> Template:
        """Return the part of this space whose constants are those of most kernels: 0, 1, -1 and the sizes.

        `strides` keeps offsets and bounds that are powers of two as well, and rates up to 3: so partial sums go from
        lane to lane, and from cell to cell of a tree.
        """
        return self

    @property
    def parts(self) -> Sequence[Template]:
        """The templates that this one is made of, each function being one of one of them."""
        return (self,)

    def together(self, some: Mapping[int, Functions]) -> Functions:
        """Return functions of some parts, by the parts' numbers, as functions of the whole."""
        (functions,) = some.values()
        return functions

    def functions(self, points: Sequence[Point]) -> Functions | None:
        """Return all its functions on these points, or None if there are too many."""
        return Rows.everything(self, points) if self.size() <= MOST_ROWS else None

    def size(self) -> int:
        """Return how many choices there are (not all of them distinct functions)."""
        return math.prod(len(c) for c in self.components)


class TemplateFamily(Struct, frozen=True):
    """Templates for one kind of hole; of a user, they are searched in Space 4 (docs/extend.md).

    `make` gives the template for a hole's size, its number of arguments, the points at which it is asked and the space,
    None where the family has nothing for such a hole. `saved` gives one that only reads constants back (`parse`) and
    says what a choice is; unless given, `make` does. `second` gives, for the size, the number of arguments and the
    points, the same functions written once more for `--certify`: an object with `groups`, `at` and `filled`
    (templates/second); without it, no claim about a space that the family is in can be confirmed.
    """

    name: str
    kind: str
    make: Callable[[int, int, tuple[Point, ...], str], Template | None]
    saved: Callable[[int, int, tuple[Point, ...]], Template | None] | None = None
    second: Callable[[int, int, tuple[Point, ...]], Any] | None = None

    def reading(self, size: int, arity: int, points: tuple[Point, ...]) -> Template | None:
        """Return a template that reads constants back."""
        return self.make(size, arity, points, "4") if self.saved is None else self.saved(size, arity, points)


FEW_CHOICES = 2000
COMPARED = 1024  # items that are compared by what they do in one step
FEW = 64  # candidates that are compared one by one on all points, rather than point by point on all candidates


def matching(of: Template, points: Sequence[Point], values: Sequence[Any]) -> ColumnChooser:
    """Return all choices whose function has these values at these points (None is free)."""
    rows = ColumnChooser.everything(of.components)
    asked = [(p, v) for p, v in zip(points, values, strict=True) if v is not None]
    for place in sorted(range(len(asked)), key=lambda place: -(place & -place)):  # far from each other first
        point, value = asked[place]
        if len(rows) <= FEW:
            break
        column = of.at(rows, point)
        if value not in column.values:
            return rows.where(np.zeros(len(rows), np.bool_))
        rows = rows.where(column.codes == column.values.index(value))
    if not asked or not asked[0][0]:
        return rows
    lanes = [np.array(c, np.int64) for c in zip(*(p for p, _ in asked), strict=True)]
    wanted = np.array([v for _, v in asked])
    same = [bool((of.apply(rows.choice(row), lanes) == wanted).all()) for row in range(min(len(rows), FEW))]
    return rows.where(np.array(same, np.bool_)) if len(rows) <= FEW else rows


def known_values(points: Points, values: ValuesThere) -> npt.NDArray[np.int64]:
    """Return the indices, the k (0 where there is none) and the values of the points whose value is not None.

    Arrays are taken as well, a line for each point, and -1 for None.
    """
    table = points if isinstance(points, np.ndarray) else np.array(points, np.int64).reshape(len(points), -1)
    if not isinstance(values, np.ndarray):
        values = np.array([-1 if value is None else value for value in values], np.int64)
    shifts = table[:, 1] if table.shape[1] > 1 else np.zeros(len(table), np.int64)
    found: npt.NDArray[np.int64] = np.array([table[:, 0], shifts, values], np.int64)
    return found if (values >= 0).all() else found[:, values >= 0]


@lru_cache(maxsize=256)
def by_size(n: int) -> tuple[int, ...]:
    """Return 0, 1, n-1 (that is -1), 2, n-2, ...: small factors first."""
    return tuple(sorted(range(n), key=lambda c: (weight_of(c, n), c)))


def weight_of(c: int, n: int) -> int:
    """Say how heavy a factor modulo n is to read: 0, 1 and -1 are light."""
    near = min(c, n - c)
    return 0 if near == 0 else 1 + (near > 1) + (c != near)


def distinct_rows(items: Sequence[T], behaviours: Callable[[Sequence[T]], npt.NDArray[Any]]) -> tuple[T, ...]:
    """Keep the first item of each behaviour; `behaviours` gives a row of numbers for each of some items."""
    seen: dict[bytes, T] = {}
    for first in range(0, len(items), COMPARED):
        some = items[first : first + COMPARED]
        for item, row in zip(some, np.ascontiguousarray(behaviours(some)), strict=True):
            seen.setdefault(row.tobytes(), item)
    return tuple(seen.values())


def columns_of(points: Sequence[Point], arity: int) -> list[npt.NDArray[np.int64]]:
    """Return the arguments at some points, one array for each argument."""
    return list(np.array(points, np.int64).reshape(len(points), arity).T)


def integers(constants: Mapping[str, object], names: Sequence[str]) -> list[int]:
    """Return the numbers of these names; ValueError where one of them is none, or is too large."""
    found = []
    for name in names:
        value = constants.get(name)
        if type(value) is not int or abs(value) >= 1 << 31:
            raise ValueError(f"{name} of the hole is {value!r}")
        found.append(value)
    return found


class Shifted(Struct, frozen=True):
    """A chooser whose components start at an offset: for templates that are made of others."""

    chooser: Any
    start: int

    def pick(self, component: int, table: Callable[[Any], Hashable]) -> Any:
        return self.chooser.pick(component + self.start, table)

    def both(self, function: Callable[[Any, Any], Hashable], a: Any, b: Any) -> Any:
        return self.chooser.both(function, a, b)

    def compare(self, a: Any, component: int) -> Any:
        return self.chooser.compare(a, component + self.start)

    def shared(self, key: Hashable, build: Callable[[], Any]) -> Any:
        return self.chooser.shared((self.start, key), build)


SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits; products with it differ in their upper bits (Knuth's multiplicative hashing)."""
_SHIFT: Final = np.uint64(29)


def mixed(keys: Any) -> Any:
    """Return keys so mixed that the next number of each column can be added."""
    return (keys ^ (keys >> _SHIFT)) * SPREAD


@lru_cache(maxsize=64)
def factors(count: int) -> npt.NDArray[np.int64]:
    """Return a factor for each of so many numbers; a column's key is the sum of the products, which wraps."""
    return np.array([pow(int(SPREAD), power, 1 << 64) for power in range(1, count + 1)], np.uint64).view(np.int64)


PointTable: TypeAlias = npt.NDArray[np.int64]


class HolePoints(tuple[Point, ...]):
    """Points in ascending order. They are a tuple, so that whoever wants tuples has them, and hashed once."""

    @staticmethod
    def of(points: Sequence[Point]) -> HolePoints:
        """Return points as such a tuple."""
        return points if isinstance(points, HolePoints) else HolePoints(points)

    @staticmethod
    def from_table(table: PointTable) -> HolePoints:
        """Return points that are given as an array, a line each."""
        found = HolePoints(zip(*table.T.tolist(), strict=True))
        found.table = table
        return found

    @cached_property
    def table(self) -> PointTable:
        """A line for each point; points without arguments, and no points, have no columns."""
        return np.array(self, np.int64).reshape(len(self), -1 if len(self) else 0)

    @cached_property
    def indices(self) -> list[int]:
        """The first arguments, each once and ascending."""
        found: list[int] = np.unique(self.table[:, 0]).tolist() if self.table.shape[1] else []
        return found

    @cached_property
    def shifts(self) -> list[int]:
        """The second arguments, each once and ascending; 0 where there is only one argument."""
        found: list[int] = np.unique(self.table[:, 1]).tolist() if self.table.shape[1] > 1 else [0] * bool(self)
        return found

    @cached_property
    def _hashed(self) -> int:
        return tuple.__hash__(self)

    def __hash__(self) -> int:
        return self._hashed
