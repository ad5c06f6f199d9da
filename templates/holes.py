"""The hole templates: `?sw_xform`, `?sw_part`, `?sw_cond`, and their Spaces 1, 2 and 3 (paper, section 5).

A template is made for one hole: its size, the points at which the kernel asks it, and a space. It denotes a finite
set of functions on those points. Constants that give the same behaviour at every point are kept once, the simplest
first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from typing_extensions import assert_never

from symbolic.ir.program import Hole, HoleKind
from templates.chooser import Choice, Chooser, Columns
from templates.primitives import fan, rot, xform

T = TypeVar("T")
Space: TypeAlias = Literal["1", "2", "3"]
Point: TypeAlias = tuple[int, ...]
SPACES: tuple[Space, ...] = ("1", "2", "3")


@dataclass(frozen=True, slots=True)
class XformChoice:
    """The constants of one `?sw_xform`, by the paper's letters; `d_r` 0 leaves the term k // d_r out."""

    gs: int
    c_f: int
    d_f: int
    wrap: bool
    c_r: int
    d_r: int
    c: int


@dataclass(frozen=True, slots=True)
class CondChoice:
    """One `?sw_cond`: `(left + sign * right) relation threshold`, negated or not.

    `left` and `right` number the hole's arguments; left == right with sign -1 is the constant 0.
    """

    left: int
    sign: int
    right: int
    relation: Literal["<=", "=="]
    negated: bool
    threshold: int

    def holds(self, arguments: Sequence[Any]) -> Any:
        """Return whether the condition holds, for ints or for lanes of them."""
        value = arguments[self.left] + self.sign * arguments[self.right]
        raw = value <= self.threshold if self.relation == "<=" else value == self.threshold
        return raw != self.negated


_TESTS_OF_SPACE_1: tuple[tuple[Literal["<=", "=="], bool, int], ...] = (
    ("<=", False, 0),
    ("<=", True, 0),
    ("<=", False, -1),
    ("<=", True, -1),
    ("==", False, 0),
    ("==", True, 0),
)


def _cond_complexity(cond: CondChoice) -> tuple[Any, ...]:
    """Order conditions by how they read: constants, then comparisons without a number, of one variable, ..."""
    constant = cond.left == cond.right and cond.sign < 0
    single = cond.left == cond.right and cond.sign > 0
    shown = cond.threshold + (cond.threshold == -1 and cond.relation == "<=")
    return (not constant, shown != 0, not single, cond.relation == "==", cond.sign, abs(shown), cond.negated)


class Template:
    """A finite space of functions from points to values."""

    components: tuple[tuple[Any, ...], ...]

    def at(self, chooser: Chooser[T], point: Point) -> T:
        """Return the hole's value at a point, in whatever way the chooser computes."""
        raise NotImplementedError

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        """Return the hole's values on lanes of arguments, for a choice that is made."""
        raise NotImplementedError

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        """Return the choice with the simplest formula that has these values, or None. A value None is free."""
        raise NotImplementedError

    def light(self) -> Template:
        """Return the part of this space whose constants are those of most kernels: 0, 1, -1 and the sizes."""
        raise NotImplementedError

    def size(self) -> int:
        """Return how many choices there are (not all of them distinct functions)."""
        return int(np.prod([len(c) for c in self.components], dtype=np.float64))


class Xform(Template):
    """`?sw_xform(i, n, k)`: group(gs, rotate after fan) (equations 5 to 7).

    Space 1 and 2: no grouping (gs = d_f = n), no wrap, no k // d_r. Space 3: every gs that divides n, every d_f
    that divides gs with gs / d_f dividing c_f, both wraps, every d_r up to the extent of k.
    """

    def __init__(self, n: int, points: Sequence[Point], space: Space) -> None:
        self.n = n
        shifts = sorted({p[1] if len(p) > 1 else 0 for p in points}) or [0]
        indices = sorted({p[0] for p in points})
        extent = max(shifts) + 1
        self.k_is_index = min(shifts) >= 0 and extent <= n
        shapes: list[tuple[int, int, int, bool]] = []
        for gs in [n] + ([g for g in range(n - 1, 0, -1) if n % g == 0] if space == "3" else []):
            for d_f in [gs] + ([d for d in range(gs - 1, 0, -1) if gs % d == 0] if space == "3" else []):
                step = gs // d_f
                wraps = (False, True) if space == "3" and step > 1 else (False,)
                shapes += [(gs, c_f, d_f, wrap) for wrap in wraps for c_f in _by_size(gs) if c_f % step == 0]
        rates = [
            (c_r, d_r) for d_r in [0] + (list(range(extent - 1, 0, -1)) if space == "3" else []) for c_r in _by_size(n)
        ]
        self.components = (
            _distinct(shapes, lambda s: tuple(self.behaviour(s, i) for i in indices)),
            _distinct(rates, lambda r: tuple(self.turn(r, k) for k in shifts)),
            tuple(_by_size(n)),
        )

    def light(self) -> Template:
        found = copy(self)
        shapes, rates, offsets = self.components
        few = (0, 1, self.n - 1)
        found.components = (
            tuple((gs, c_f, d_f, wrap) for gs, c_f, d_f, wrap in shapes if min(c_f, gs - c_f) in (0, 1, gs // d_f)),
            tuple((c_r, d_r) for c_r, d_r in rates if c_r in few),
            tuple(c for c in offsets if c in few),
        )
        return found

    def behaviour(self, shape: tuple[int, int, int, bool], i: int) -> tuple[int, int, int]:
        """Return (base, m, f): the value at index i is base + (f + R) mod m."""
        gs, c_f, d_f, wrap = shape
        spread = fan(gs, c_f, d_f, i % gs)
        m = gs // d_f if wrap else gs
        return i // gs * gs + spread // m * m, m, spread % m

    def turn(self, rate: tuple[int, int], k: int) -> int:
        c_r, d_r = rate
        return (k * c_r + (k // d_r if d_r else 0)) % self.n

    def at(self, chooser: Chooser[T], point: Point) -> T:
        i, k = point[0], point[1] if len(point) > 1 else 0

        def build() -> T:
            turn = chooser.pick(1, lambda rate: self.turn(rate, k))
            return chooser.both(lambda a, c: rot(self.n, a, c), turn, chooser.pick(2, lambda c: c))

        amount = chooser.shared(k, build)
        shape = chooser.pick(0, lambda s: self.behaviour(s, i))
        return chooser.both(lambda s, r: s[0] + (s[2] + r) % s[1], shape, amount)

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        named = self.named(choice)
        k = arguments[1] if len(arguments) > 1 else 0
        amount = k * named.c_r + (k // named.d_r if named.d_r else 0) + named.c
        return xform(named.gs, named.c_f, named.d_f, named.wrap, amount, arguments[0])

    def named(self, choice: Choice) -> XformChoice:
        (gs, c_f, d_f, wrap), (c_r, d_r), c = choice
        return XformChoice(gs, c_f, d_f, wrap, c_r, d_r, c)

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        found = matching(self, points, values)
        best = min(range(len(found)), key=lambda row: self.complexity(found.choice(row)), default=None)
        return None if best is None else found.choice(best)

    def complexity(self, choice: Choice) -> tuple[int, ...]:
        """Order choices by how their formulas read; those of Space 1 come first."""
        named = self.named(choice)
        gs = named.gs
        terms = [_weight(named.c_f, gs), _weight(named.c_r, gs), _weight(named.c, gs)]
        extra = (gs != self.n) + (named.d_f != gs) + named.wrap + (named.d_r != 0)
        return (extra > 0, 4 * extra + sum(terms), named.c_f != 1, named.c, named.c_r, named.c_f, gs)


class Cond(Template):
    """`?sw_cond(v, ...)`: `v cmp (I + v')` or `v cmp (I - v')` (section 5.1).

    Space 1: I is 0. Spaces 2 and 3: I is every integer that makes a difference. The six comparisons are
    `<=` and `==`, negated or not, with I shifted by one for the strict ones. Space 1 is so small that its distinct
    functions are its only component.
    """

    def __init__(self, arity: int, points: Sequence[Point], space: Space) -> None:
        self.space = space
        self.sizes = {max(values) + 1 for values in zip(*points, strict=True)}
        forms = [(a, -1, b) for a, b in itertools.combinations(range(arity), 2)]
        forms += [(a, 1, a) for a in range(arity)] + [(a, 1, b) for a, b in itertools.combinations(range(arity), 2)]
        if arity:
            forms.append((0, -1, 0))
        kept = _distinct(forms, lambda form: tuple(_linear(form, p) for p in points))
        if space == "1":
            functions = [
                CondChoice(left, way, right, relation, negated, bound)
                for left, way, right in kept
                for relation, negated, bound in _TESTS_OF_SPACE_1
            ]
            functions.sort(key=_cond_complexity)
            self.components = (_distinct(functions, lambda f: tuple(f.holds(p) for p in points)),)
        else:
            reach = [_linear(form, p) for form in kept for p in points] or [0]
            self.components = (
                kept,
                tuple(itertools.product(("<=", "=="), (False, True))),
                tuple(range(min(reach) - 1, max(reach) + 1)),
            )

    def light(self) -> Cond:
        if self.space == "1":
            return self
        found = copy(self)
        forms, relations, thresholds = self.components
        near = {size + step for size in (0, *self.sizes) for step in (-1, 0, 1)}
        found.components = (forms, relations, tuple(t for t in thresholds if t in near or -t in near))
        return found

    def at(self, chooser: Chooser[T], point: Point) -> T:
        if self.space == "1":
            return chooser.pick(0, lambda function: function.holds(point))
        value = chooser.pick(0, lambda form: _linear(form, point))
        stands = chooser.compare(value, 2)
        return chooser.both(
            lambda s, r: ((s <= 0) if r[0] == "<=" else (s == 0)) != r[1], stands, chooser.pick(1, lambda r: r)
        )

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        return self.named(choice).holds(arguments)

    def named(self, choice: Choice) -> CondChoice:
        if self.space == "1":
            (function,) = choice
            assert isinstance(function, CondChoice)
            return function
        (left, way, right), (relation, negated), threshold = choice
        return CondChoice(left, way, right, relation, negated, threshold)

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        found = matching(self, points, values)
        best = min(range(len(found)), key=lambda row: _cond_complexity(self.named(found.choice(row))), default=None)
        return None if best is None else found.choice(best)


class Part(Template):
    """`?sw_part(n, v, ...)`: if ?sw_cond then 0 elif ?sw_cond then 1 ... else n - 1 (section 5.2)."""

    def __init__(self, n: int, arity: int, points: Sequence[Point], space: Space) -> None:
        self.n = n
        self._set(Cond(arity, points, space))

    def _set(self, condition: Cond) -> None:
        self.conditions = [condition] * (self.n - 1)
        self.components = condition.components * (self.n - 1) or ((None,),)

    def light(self) -> Template:
        if not self.conditions:
            return self
        found = copy(self)
        found._set(self.conditions[0].light())
        return found

    def slices(self) -> list[slice]:
        """Return where each condition's components stand among all."""
        width = len(self.conditions[0].components) if self.conditions else 0
        return [slice(j * width, (j + 1) * width) for j in range(len(self.conditions))]

    def at(self, chooser: Chooser[T], point: Point) -> T:
        if not self.conditions:
            return chooser.pick(0, lambda _: 0)
        value: T | None = None
        for j, (condition, part) in reversed(list(enumerate(zip(self.conditions, self.slices(), strict=True)))):
            chosen = condition.at(_Shifted(chooser, part.start), point)
            if value is None:
                value = chooser.both(lambda c, _, j=j: j if c else j + 1, chosen, chosen)  # type: ignore[misc]
            else:
                value = chooser.both(lambda c, rest, j=j: j if c else rest, chosen, value)  # type: ignore[misc]
        assert value is not None
        return value

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        value: Any = self.n - 1
        for j, part in reversed(list(enumerate(self.slices()))):
            value = np.where(self.conditions[j].apply(choice[part], arguments), j, value)
        return value

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        if not self.conditions:
            return (None,)
        choice: Choice = ()
        for j, condition in enumerate(self.conditions):
            wanted = [None if v is None or v < j else v == j for v in values]
            found = condition.simplest(points, wanted)
            if found is None:
                return None
            choice += found
        return choice


@dataclass(frozen=True, slots=True)
class _Shifted:
    """A chooser whose components start at an offset."""

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


def template(hole: Hole, points: Sequence[Point], space: Space) -> Template:
    """Return the template of a hole for the points at which it is asked; holes that are alike share it."""
    return _template(hole.kind, hole.size, len(hole.arguments), tuple(points), space)


@lru_cache(maxsize=256)
def _template(kind: HoleKind, size: int, arity: int, points: tuple[Point, ...], space: Space) -> Template:
    match kind:
        case "xform":
            return Xform(size, points, space)
        case "part":
            return Part(size, arity, points, space)
        case "cond":
            return Cond(arity, points, space)
        case _:
            assert_never(kind)


FEW = 64  # candidates that are compared one by one on all points, rather than point by point on all candidates


def matching(of: Template, points: Sequence[Point], values: Sequence[Any]) -> Columns:
    """Return all choices whose function has these values at these points (None is free)."""
    rows = Columns.everything(of.components)
    asked = [(p, v) for p, v in zip(points, values, strict=True) if v is not None]
    for point, value in asked:
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


def _linear(form: tuple[int, int, int], point: Point) -> int:
    left, way, right = form
    return point[left] + way * point[right]


def _by_size(n: int) -> list[int]:
    """Return 0, 1, n-1 (that is -1), 2, n-2, ...: small factors first."""
    return sorted(range(n), key=lambda c: (_weight(c, n), c))


def _weight(c: int, n: int) -> int:
    """Say how heavy a factor modulo n is to read: 0, 1 and -1 are light."""
    near = min(c, n - c)
    return 0 if near == 0 else 1 + (near > 1) + (c != near)


def _distinct(items: Sequence[Any], behaviour: Callable[[Any], Hashable]) -> tuple[Any, ...]:
    """Keep the first item of each behaviour."""
    seen: dict[Hashable, Any] = {}
    for item in items:
        seen.setdefault(behaviour(item), item)
    return tuple(seen.values())
