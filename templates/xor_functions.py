"""The maps of `templates/xor.py` as affine subspaces: the solutions of linear equations over bits.

Output bit r at a point is the parity of the *features* of the point, 1 and the bits of its arguments, that are chosen
for r. So the unknowns are bits, one for each output bit and feature, and 'the value at this point is v' is one linear
equation for each output bit. All maps that satisfy some equations are kept as the equations in reduced echelon form:
Gaussian elimination, a step for each point.

Of several allowed values only the affine hull is linear. So a set may hold maps that have a value outside: it is never
too small, which keeps 'none' sound. And it is exact where it matters. What was allowed is remembered at each point, and
the hull is taken anew of those of the allowed values that the maps left still have, until nothing changes: so where one
allowed value is left, every map of the set has it. A search that ends with one value at each point thus ends with maps
that have these values (`tests/templates/test_xor.py` compares with a brute force over all maps).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from templates.chooser import Allowed, Choice, Places
from templates.holes import Point

MOST_PARTS = 1 << 18  # linear parts, times sums of differences, before what is left of them is not looked at


class Bitwise(Protocol):
    """What is asked of the template; `Xor` has it."""

    bits: int
    features: int

    def features_of(self, point: Point) -> int: ...
    def choice_of(self, solution: int) -> Choice: ...
    def weight(self, choice: Choice) -> tuple[Any, ...]: ...

    @property
    def identity(self) -> int: ...


class _Image(NamedTuple):
    """The values at a point, an affine subspace: one of them, a basis of the differences, and all of them as bits.

    `unknowns`, as bits, are those on which the values depend: unless one of them is eliminated, the image stays.
    """

    base: int
    ways: tuple[int, ...]
    values: int
    unknowns: int


class AffineMaps:
    """The maps that satisfy linear equations, and have an allowed value where some are told.

    Bit `r * features + f` of a solution says whether output bit r has feature f; the bit above all is the right side.
    """

    def __init__(self, of: Bitwise, points: Sequence[Point]) -> None:
        self.of = of
        self.at = [of.features_of(point) for point in points]
        self.unknowns = of.bits * of.features
        self.rows: dict[int, int] = {}  # by their highest unknown, which no other row has
        self.told: dict[int, int] = {}  # of some points, the allowed values as bits
        self.taken: dict[tuple[int, ...], int] = {}  # values that are taken at one of some points each, as bits
        self.possible = True
        self._pivots = 0  # the unknowns of `rows`
        self._images: dict[int, _Image] = {}

    @property
    def count(self) -> int:
        return 1 << (self.unknowns - len(self.rows)) if self.possible else 0

    def keep(self, places: Places, allowed: Allowed) -> AffineMaps:
        found = self._copy()
        for place, values in zip(places.tolist(), _sets(allowed), strict=True):
            told = found.told[place] = found.told.get(place, values) & values
            found._require(place, told)
        found._close()
        return found

    def keep_any(self, places: Places, allowed: Allowed) -> AffineMaps:
        """Return those of the only place where an allowed value is possible, and where there are more, a superset.

        If one value is to be had at one of several places, the maps' image of the places' affine hull contains it, and
        so the affine hull of all values that are to be had there. A hull has no image of more dimensions. If the
        dimensions are equal, that hull is the image.
        """
        given = self.given(places, allowed)
        fits = given.any(axis=1)
        if fits.sum() < 2:
            return self.keep(places[fits], allowed[fits]) if fits.any() else self._nothing()
        (values,) = np.nonzero(given.any(axis=0))
        key = tuple(places.tolist())
        known = self.taken.get(key, 0)
        if len(values) > 1 or known >> values[0] & 1:
            return self
        found = self._copy()
        found.taken[key] = known | 1 << int(values[0])
        found._require_hull(key, found.taken[key])
        found._close()
        return found

    def given(self, places: Places, allowed: Allowed) -> Allowed:
        if not self.possible:
            return np.zeros_like(allowed)
        lines = list[int]()
        for place in places.tolist():
            values = self._image(self.at[place]).values
            lines.append(values & self.told.get(place, values))
        return allowed & _members(lines, allowed.shape[1])

    def within(self, differences: Mapping[int, Allowed]) -> AffineMaps:
        """Return nothing where no linear part sends differences of features to allowed differences of values."""
        size = 1 << self.of.bits
        sent = {0: np.zeros(1, np.int16)}  # where each linear part that is left sends sums of differences
        for difference in differences:
            if difference in sent:
                continue
            new = {
                known ^ difference: (image[:, None] ^ np.arange(size, dtype=np.int16)).reshape(-1)
                for known, image in sent.items()
            }
            sent = {known: image.repeat(size) for known, image in sent.items()} | new
            fits = np.ones(len(sent[0]), np.bool_)
            for known in new.keys() & differences.keys():
                fits &= differences[known][sent[known]]
            sent = {known: image[fits] for known, image in sent.items()}
            if not fits.any():
                return self._nothing()
            if len(sent) * len(sent[0]) > MOST_PARTS:
                break
        return self

    def may_have(self, places: Places, sets: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Say of each line, which has a set of values for each place, whether a map may have one of each.

        Each bit of the output is looked at by itself, where the values of a set agree in it: exact for single values.
        All lines are eliminated at once. That these are some of the maps, and not all, is not looked at.
        """
        bits, features = self.of.bits, self.of.features
        ones = np.array([sum(1 << v for v in range(1 << bits) if v >> r & 1) for r in range(bits)], np.uint64)
        left = np.flatnonzero((sets != 0).all(axis=1))
        systems = np.zeros((features, len(left), bits), np.int64)  # by the highest feature; the right side is above
        for place, column in zip(places.tolist(), sets.T, strict=True):
            allowed = column[left, None]
            one, zero = (allowed & ones) != 0, (allowed & ~ones) != 0
            row = np.where(one != zero, self.at[place] | one.astype(np.int64) << features, 0)
            for feature in reversed(range(features)):
                has = (row >> feature & 1).astype(np.bool_)
                if has.any():
                    new = has & (systems[feature] == 0)
                    systems[feature][new] = row[new]
                    row ^= np.where(has, systems[feature], 0)
            wrong = row.any(axis=1)
            if wrong.any():
                left, systems = left[~wrong], systems[:, ~wrong]
        found = np.zeros(len(sets), np.bool_)
        found[left] = True
        return found

    def choice(self) -> Choice:
        return self.of.choice_of(self._solution(0))

    def choices(self) -> Iterator[Choice]:
        free = [unknown for unknown in range(self.unknowns) if unknown not in self.rows]
        for some in itertools.product((0, 1), repeat=len(free)):
            yield self.of.choice_of(
                self._solution(sum(bit << unknown for bit, unknown in zip(some, free, strict=True)))
            )

    def simplest(self) -> Choice:
        """Return one with a light formula: bits that the points leave open are 0, or those of the identity."""
        found = [self.of.choice_of(self._solution(wish)) for wish in (0, self.of.identity)]
        return min(found, key=self.of.weight)

    # -- linear algebra -------------------------------------------------------------------------------------

    def _copy(self) -> AffineMaps:
        found = object.__new__(AffineMaps)
        found.of, found.at, found.unknowns, found.possible = self.of, self.at, self.unknowns, self.possible
        found.rows, found.told, found.taken = dict(self.rows), dict(self.told), dict(self.taken)
        found._pivots, found._images = self._pivots, dict(self._images)
        return found

    def _nothing(self) -> AffineMaps:
        found = self._copy()
        found.possible = False
        return found

    def _require(self, place: int, values: int) -> bool:
        """Require a value in the affine hull of some; return whether that said anything new."""
        known = len(self.rows), self.possible
        if not values:
            self.possible = False
        for output, right in _equations(values, self.of.bits):
            row = right << self.unknowns
            for r in _ones(output):
                row ^= self.at[place] << r * self.of.features
            self._add(row)
        return known != (len(self.rows), self.possible)

    def _add(self, row: int) -> None:
        row = self._reduced(row)
        unknown = (row & ((1 << self.unknowns) - 1)).bit_length() - 1
        if unknown < 0:
            self.possible &= not row
            return
        for other, known in self.rows.items():
            if known >> unknown & 1:
                self.rows[other] = known ^ row
        self.rows[unknown] = row
        self._pivots |= 1 << unknown
        self._images = {at: image for at, image in self._images.items() if not image.unknowns >> unknown & 1}

    def _reduced(self, row: int) -> int:
        """Return a row without the highest unknowns of `rows`, of which none has that of another."""
        for unknown in _ones(row & self._pivots):
            row ^= self.rows[unknown]
        return row

    def _require_hull(self, places: Sequence[int], values: int) -> None:
        """Require that the image of the places' hull contains some values."""
        more = _dimension(self.at[place] for place in places) - _dimension(_ones(values))
        self.possible &= more >= 0
        if more == 0:
            for place in places:
                self._require(place, values)

    def _spans(self, places: Sequence[int], values: int) -> bool:
        """Say whether values differ only in ways that the values at some places can differ in."""
        first, *others = (self.at[place] for place in places)
        basis = list[int]()
        for features in others:
            image = self._image(first ^ features)
            for way in (image.base, *image.ways):
                _extend(basis, way)
        least = (values & -values).bit_length() - 1
        return not any(_extend(basis, value ^ least) for value in _ones(values))

    def _close(self) -> None:
        """Take the hull of what is left of the allowed values, at each point, until nothing changes."""
        changed = True
        while changed and self.count:
            changed = False
            for place, values in self.told.items():
                image = self._image(self.at[place])
                left = image.values & values
                if left != image.values and self._require(place, left):
                    changed = True
                if not self.count:
                    return
        self.possible &= all(self._spans(places, values) for places, values in self.taken.items())

    def _image(self, features: int) -> _Image:
        """Return the values at a point."""
        if features not in self._images:
            base, ways, unknowns = 0, list[int](), 0
            basis: list[tuple[int, int, int]] = []  # of independent unknowns: their highest, them, which of `ways` each
            for r in range(self.of.bits):
                row = self._reduced(features << r * self.of.features)
                base |= (row >> self.unknowns & 1) << r
                row &= (1 << self.unknowns) - 1
                unknowns |= row
                made = 0
                for highest, known, which in basis:
                    if row >> highest & 1:
                        row, made = row ^ known, made ^ which
                if row:
                    basis.append((row.bit_length() - 1, row, made ^ 1 << len(ways)))
                    made = 1 << len(ways)
                    ways.append(0)
                for number in _ones(made):
                    ways[number] |= 1 << r
            self._images[features] = _Image(base, tuple(ways), _span(base, tuple(ways)), unknowns)
        return self._images[features]

    def _solution(self, wish: int) -> int:
        """Return the solution whose free unknowns are those of a wish."""
        for unknown in self.rows:
            wish &= ~(1 << unknown)
        return wish | sum(
            ((row & wish).bit_count() + (row >> self.unknowns) & 1) << unknown for unknown, row in self.rows.items()
        )


@lru_cache(maxsize=4096)
def _equations(values: int, bits: int) -> tuple[tuple[int, int], ...]:
    """Return what is linear of 'one of these values': output bits and their parity, independent ones, as many."""
    members = list(_ones(values))
    if not members:
        return ()
    first, ways = members[0], dict[int, int]()  # by their highest bit, which no other has
    for value in members[1:]:
        way = value ^ first
        for highest, known in ways.items():
            if way >> highest & 1:
                way ^= known
        if way:
            highest = way.bit_length() - 1
            ways = {h: known ^ way if known >> highest & 1 else known for h, known in ways.items()} | {highest: way}
    found = []
    for r in range(bits):
        if r not in ways:
            output = 1 << r | sum(1 << highest for highest, way in ways.items() if way >> r & 1)
            found.append((output, (output & first).bit_count() & 1))
    return tuple(found)


def _dimension(members: Iterable[int]) -> int:
    """Return the dimension of the affine hull of some vectors of bits."""
    first, *others = members
    basis = list[int]()
    for member in others:
        _extend(basis, member ^ first)
    return len(basis)


def _extend(basis: list[int], way: int) -> bool:
    """Add a vector to a basis unless it depends on it; return whether it was added."""
    for known in basis:
        way = min(way, way ^ known)
    if way:
        basis.append(way)
    return bool(way)


@lru_cache(maxsize=4096)
def _span(base: int, ways: tuple[int, ...]) -> int:
    """Return the members of an affine subspace as bits."""
    found = [base]
    for way in ways:
        found += [value ^ way for value in found]
    return sum(1 << value for value in found)


def _ones(number: int) -> Iterator[int]:
    """Yield which bits of a number are 1, the lowest first."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def _sets(allowed: Allowed) -> list[int]:
    """Return each line as a number whose bits are its members."""
    lines = np.packbits(allowed, axis=1, bitorder="little")
    return [int.from_bytes(line, "little") for line in map(bytes, lines)]


def _members(lines: Sequence[int], size: int) -> npt.NDArray[np.bool_]:
    """Return numbers whose bits are members as lines: the inverse of `_sets`, for members below a size."""
    length = (size + 7) // 8
    joined = b"".join((line & (1 << size) - 1).to_bytes(length, "little") for line in lines)
    packed = np.frombuffer(joined, np.uint8).reshape(len(lines), length)
    return np.unpackbits(packed, axis=1, count=size, bitorder="little").astype(np.bool_)
