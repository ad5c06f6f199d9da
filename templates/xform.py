"""`?sw_xform(i, n, k)`: group(gs, rotate after fan), the paper's equations 5 to 7, in Spaces 1, 2 and 3."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict

from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.chooser import Choice, Chooser, Functions
from templates.formula import binary, grouped, nearest_to_zero, number, remainder, signed, sum_of, times, total
from templates.primitives import fan, rates_of, rot, xform
from templates.template import (
    HolePoints,
    Point,
    Points,
    Template,
    TemplateFamily,
    ValuesThere,
    by_size,
    distinct_rows,
    integers,
    known_values,
    weight_of,
)
from templates.xform_functions import MOST_SETS, WORD, Xforms, shift
from templates.xform_lists import ListedXforms

T = TypeVar("T")
Shape: TypeAlias = tuple[int, int, int, bool]  # gs, c_f, d_f, wrap
_Numbers: TypeAlias = npt.NDArray[np.int32]
_NAMES = ("gs", "c_f", "d_f", "wrap", "c_r", "d_r", "c")


class XformChoice(Struct, frozen=True):
    """The constants of one `?sw_xform`, by the paper's letters; `d_r` 0 leaves the term k // d_r out."""

    gs: int
    c_f: int
    d_f: int
    wrap: bool
    c_r: int
    d_r: int
    c: int


class Xform(Template):
    """`?sw_xform(i, n, k)`.

    Space 1 and 2: no grouping (gs = d_f = n), no wrap, no k // d_r. Space 3: every gs that divides n, every d_f
    that divides gs with gs / d_f dividing c_f, both wraps, every d_r up to the extent of k.
    """

    tabled: ClassVar[bool] = True

    def __init__(self, n: int, points: Sequence[Point], space: str) -> None:
        self.n = n
        some = HolePoints.of(points)
        self.shifts, self.indices = some.shifts or [0], some.indices
        whole = space not in ("1", "2")
        divisors = [d for d in range(n, 0, -1) if n % d == 0]
        self._groups = divisors if whole else [n]
        self._fans = {gs: [d for d in divisors if gs % d == 0] if whole else [gs] for gs in self._groups}
        self._periods = [0, *range(max(self.shifts), 0, -1)] if whole else [0]

    @cached_property
    def components(self) -> tuple[tuple[Any, ...], ...]:  # type: ignore[override]
        """Shapes, rates and offsets; of those that are alike at the points, the first."""
        alone = (
            distinct_rows([(0, d_r) for d_r in self._periods], self._turns_at_points),
            distinct_rows([(c_r, 0) for c_r in by_size(self.n)], self._turns_at_points),
        )
        rates = [(c_r, d_r) for (_, d_r), (c_r, _) in itertools.product(*alone)]
        return (
            distinct_rows(list(self._shapes()), self._spread_at_points),
            distinct_rows(rates, self._turns_at_points),
            by_size(self.n),
        )

    def _shapes(self) -> Iterator[Shape]:
        for gs in self._groups:
            for d_f in self._fans[gs]:
                step = gs // d_f
                for wrap in (False, True) if len(self._groups) > 1 and step > 1 else (False,):
                    yield from ((gs, c_f, d_f, wrap) for c_f in by_size(gs) if c_f % step == 0)

    def restricted(self, strides: bool = False) -> Template:
        found = copy(self)
        shapes, rates, offsets = self.components
        few = (0, 1, self.n - 1)
        most = 3 if strides else 1
        found.components = (
            tuple(shape for shape in shapes if _is_light(shape)),
            tuple((c_r, d_r) for c_r, d_r in rates if min(c_r, self.n - c_r) <= most),
            tuple(c for c in offsets if c in few or (strides and min(c, self.n - c).bit_count() == 1)),
        )
        return found

    def behaviour(self, shape: Shape, i: int) -> tuple[int, int, int]:
        """Return (base, m, f): the value at index i is base + (f + R) mod m."""
        gs, c_f, d_f, wrap = shape
        spread = fan(gs, c_f, d_f, i % gs)
        m = gs // d_f if wrap else gs
        return i // gs * gs + spread // m * m, m, spread % m

    def behaviours(self, shapes: Sequence[Shape], indices: Sequence[int]) -> tuple[_Numbers, _Numbers, _Numbers]:
        """Return what `behaviour` does, a line a shape and a column an index, and m of each shape."""
        gs, c_f, d_f, wrap = np.array(shapes, np.int32).reshape(-1, 4, 1).swapaxes(0, 1)
        i = np.array(indices, np.int32)
        spread: _Numbers = fan(gs, c_f, d_f, i % gs)
        m: _Numbers = np.where(wrap, gs // d_f, gs)
        start = spread % m
        return i - i % gs + spread - start, start, m[:, 0]

    def _spread_at_points(self, shapes: Sequence[Shape]) -> _Numbers:
        base, start, m = self.behaviours(shapes, self.indices)
        return np.concatenate((base * self.n + start, m[:, None][:, : len(self.indices)]), axis=1)

    def turn(self, rate: tuple[int, int], k: int) -> int:
        c_r, d_r = rate
        return (k * c_r + (k // d_r if d_r else 0)) % self.n

    def _turns_at_points(self, rates: Sequence[tuple[int, int]]) -> _Numbers:
        return self.turns(rates, self.shifts)

    def turns(self, rates: Sequence[tuple[int, int]], shifts: Sequence[int]) -> _Numbers:
        """Return what `turn` does, a line a rate and a column a shift."""
        c_r, d_r = np.array(rates, np.int64).reshape(-1, 2, 1).swapaxes(0, 1)
        k = np.array(shifts, np.int64)
        found: _Numbers = ((k * c_r + np.where(d_r, k // np.maximum(d_r, 1), 0)) % self.n).astype(np.int32)
        return found

    def at(self, chooser: Chooser[T], point: Point) -> T:
        i, k = point[0], shift(point)

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

    def tables(self, choices: Sequence[Choice], columns: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """See `Template`; the shapes, which few are of many choices, are spread once each."""
        k = columns[1] if len(columns) > 1 else np.zeros(len(columns[0]), np.int64)
        shapes = {shape: number for number, shape in enumerate(dict.fromkeys(choice[0] for choice in choices))}
        base, start, m = self.behaviours(list(shapes), columns[0].tolist())
        rates = {rate: number for number, rate in enumerate(dict.fromkeys(choice[1] for choice in choices))}
        turns = self.turns(list(rates), k.tolist())
        which = np.array([(shapes[shape], rates[rate], c) for shape, rate, c in choices], np.int64).reshape(-1, 3)
        turned = turns[which[:, 1]] + which[:, 2:]
        shape = which[:, 0]
        return np.asarray(base[shape] + (start[shape] + turned) % m[shape, None], np.int64)

    @property
    def some(self) -> Choice:
        return (self.n, 0, self.n, False), (0, 0), 0

    def named(self, choice: Choice) -> XformChoice:
        (gs, c_f, d_f, wrap), (c_r, d_r), c = choice
        return XformChoice(gs, c_f, d_f, wrap, c_r, d_r, c)

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        """Order choices by how their formulas read; those of Space 1 come first."""
        named = self.named(choice)
        gs = named.gs
        terms = [weight_of(named.c_f, gs), weight_of(named.c_r, gs), weight_of(named.c, gs)]
        extra = (gs != self.n) + (named.d_f != gs) + named.wrap + (named.d_r != 0)
        return (extra > 0, 4 * extra + sum(terms), named.c_f != 1, named.c, named.c_r, named.c_f, gs)

    def recognised(self, points: Points, values: ValuesThere) -> Choice | None:
        """Return a choice with these values if they fan and rotate all n elements at once, without groups."""
        i, k, wanted = known_values(points, values)
        if not len(i):
            return None
        column = np.flatnonzero(k == np.bincount(k - k.min()).argmax() + k.min())
        row = np.flatnonzero(i == np.bincount(i).argmax())
        spread = rates_of(i[column], wanted[column], self.n, [d % self.n for d in self._fans[self.n]])
        turns = rates_of(k[row], wanted[row], self.n, self._periods)
        for (c_f, d_f), rate in itertools.product(spread, turns):
            if c_f % (self.n // (d_f or self.n)) == 0:
                shape = (self.n, c_f, d_f or self.n, False)
                c = int(wanted[0] - self.apply((shape, rate, 0), (i[0], k[0]))) % self.n
                if (self.apply((shape, rate, c), (i, k)) == wanted).all():
                    return shape, rate, c
        return None

    def lightest(self) -> Iterator[Choice]:
        """Yield the choices of light constants, by how much their formulas have to say in all."""
        light = sorted({0, 1 % self.n, self.n - 1})
        rates = [(c_r, d_r) for d_r in sorted(self._periods) for c_r in light]
        of_weight = [
            _by_weight(
                filter(_is_light, self._shapes()),
                lambda s: 4 * ((s[0] != self.n) + (s[2] != s[0]) + s[3]) + weight_of(s[1], s[0]),
            ),
            _by_weight(rates, lambda r: 4 * (r[1] != 0) + weight_of(r[0], self.n)),
            _by_weight(light, lambda c: weight_of(c, self.n)),
        ]
        sums: dict[int, list[tuple[int, ...]]] = {}
        for some in itertools.product(*of_weight):
            sums.setdefault(sum(some), []).append(some)
        for total_weight in sorted(sums):
            for a, b, c in sums[total_weight]:
                yield from itertools.product(of_weight[0][a], of_weight[1][b], of_weight[2][c])

    def functions(self, points: Sequence[Point]) -> Functions | None:
        shapes, rates, _ = map(len, self.components)
        some = HolePoints.of(points)
        shifts, indices = len(some.shifts), len(some.indices)
        if self.n <= WORD and shapes * max(rates * shifts, len(points)) <= MOST_SETS:
            return Xforms.everything(self, points)
        few = shapes * indices <= MOST_SETS and rates * shifts <= MOST_SETS
        return ListedXforms.everything(self, points) if few else None

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        return {name: int(v) for name, v in asdict(self.named(choice)).items()}

    def parse(self, constants: Mapping[str, object]) -> Choice:
        gs, c_f, d_f, wrap, c_r, d_r, c = integers(constants, _NAMES)
        if gs < 1 or d_f < 1 or self.n % gs or gs % d_f or d_r < 0:
            raise ValueError(f"gs = {gs}, d_f = {d_f}, d_r = {d_r} is not an xform of size {self.n}")
        return ((gs, c_f, d_f, bool(wrap)), (c_r, d_r), c)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        named, n, i = self.named(choice), self.n, arguments[0]
        k = arguments[1] if len(arguments) > 1 else number(0, place)
        gs = named.gs
        whole = gs == n
        inner = i if whole else binary("%", i, number(gs, place))
        m = gs // named.d_f if named.wrap else gs
        spread = [
            times(signed(named.c_f, gs), inner),
            binary("//", inner, number(named.d_f, place)) if named.d_f != gs else None,
        ]
        amount = [times(signed(named.c_r % m, m), k), binary("//", k, number(named.d_r, place)) if named.d_r else None]
        offset = named.c % m
        if named.wrap:
            inside = total(spread, place)
            if not (named.c_f == 1 and named.d_f == gs):
                inside = remainder(inside, gs)
            start = binary("*", binary("//", inside, number(m, place)), number(m, place))
            turned = remainder(total([binary("%", inside, number(m, place)), *amount], place, offset), m)
            value = total([start, turned], place)
        elif named.c_f == 1 and named.d_f == gs and not any(amount) and offset == 0:
            value = inner
        else:
            value = remainder(total([*spread, *amount], place, offset), gs)
        if whole:
            return value
        return total([binary("*", binary("//", i, number(gs, place)), number(gs, place)), value], place)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        named = self.named(choice)
        gs, c_f, d_f = named.gs, named.c_f % named.gs, named.d_f
        step, inner = gs // d_f, gs // d_f if named.wrap else gs
        k, offset, spread = names[1] if len(names) > 1 else "", named.c, ""
        if d_f == gs and c_f == 0 and inner == gs:
            element = _amount(named, k, offset, gs)
            element = str(offset % gs) if element.lstrip("-").isdigit() else element
            return grouped([f"broadcast element {element}"], gs, self.n)
        if d_f == gs and c_f == gs - 1 and gs > 2 and inner == gs:
            spread, offset = "reverse", offset + 1
        elif d_f == gs and c_f != 1 % gs:
            spread = f"fan by {c_f}"
        elif d_f < gs and c_f == step % gs:
            spread = f"transpose a {d_f} x {step} matrix"
        elif d_f < gs:
            spread = f"fan by {c_f}, one further after every {d_f}"
        amount = _amount(named, k, offset, inner)
        turn = "" if amount == "0" else f"rotate by {amount}" + ("" if inner == gs else f" in groups of {inner}")
        return grouped([part for part in (spread, turn) if part], gs, self.n)


def _is_light(shape: tuple[int, int, int, bool]) -> bool:
    gs, c_f, d_f, _ = shape
    return min(c_f, gs - c_f) in (0, 1, gs // d_f)


class RotateXform(Xform):
    """`(i + c_r * k + k // d_r + c) % n`: a rotation of all n elements, as layouts have it."""

    def _shapes(self) -> Iterator[tuple[int, int, int, bool]]:
        yield self.n, 1 % self.n, self.n, False

    @property
    def some(self) -> Choice:
        return next(self._shapes()), (0, 0), 0

    def recognised(self, points: Points, values: ValuesThere) -> Choice | None:
        found = super().recognised(points, values)
        return found if found is not None and found[0] in self.components[0] else None


def _by_weight(some: Iterable[Any], weight: Callable[[Any], int]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for each in some:
        found.setdefault(weight(each), []).append(each)
    return found


def _amount(named: XformChoice, k: str, offset: int, m: int) -> str:
    """Return by how much to rotate modulo m: `k`, `-k`, `2 * k + 3`, `k // 4 + 1`."""
    if m == 1:
        return "0"
    terms = []
    if k:
        terms.append((nearest_to_zero(named.c_r, m), k))
        if named.d_r:
            terms.append((1, f"{k} // {named.d_r}"))
    return sum_of([(factor, text) for factor, text in terms if factor], nearest_to_zero(offset, m))


FAMILY = TemplateFamily(
    "xform",
    "xform",
    lambda size, arity, points, space: Xform(size, points, space),
    saved=lambda size, arity, points: Xform(size, points, "1"),
)
ROTATE = TemplateFamily(
    "rotate",
    "xform",
    lambda size, arity, points, space: RotateXform(size, points, "3"),
    saved=lambda size, arity, points: RotateXform(size, points, "1"),
)
