"""All expressions of a few leaves, told apart by their values on samples: the candidates of the table.

The paper enumerates spellings in a canonical form; here two spellings of one function are one, the smaller, so that an
operator is met at its smallest size. Only operators with an identity are wanted, on one side at least, as a reduction
has to begin with something. That is tried on samples of its own, in which x, or y, is the word of an identity.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from swizzle.operators.elementary.entries import NEUTRAL, neutral
from symbolic.expressions.expression import BUILDERS, Expression, number_name, subtract
from symbolic.expressions.formulas import Sort

Array = Any
TreeRows: TypeAlias = list[list[int]]
PLAIN: Final = 20
"""Samples that tell functions apart, beside those of identities."""
SAME: Final = 6
"""Samples, the first ones, with the same k: what is the same in all of them is a constant like k."""
EACH: Final = 3
"""Samples of each word of an identity and each side."""
MANY: Final = 1 << 22
"""Values of rows that are told apart at once."""
_BINARY: Final[tuple[tuple[str, Any, bool], ...]] = (
    ("+", np.add, True), ("*", np.multiply, True), ("max", np.maximum, True), ("min", np.minimum, True),
    ("-", np.subtract, False),
)  # fmt: skip
_TESTS: Final[tuple[tuple[str, Any, bool], ...]] = (("<", np.less, False), ("<=", np.less_equal, False))


def dtype_of(sort: Sort) -> Any:
    """Return NumPy's type of a sort: reals are whole numbers in double precision, which are exact."""
    return np.float64 if sort.kind == "real" else np.dtype(f"{'i' if sort.signed else 'u'}{sort.bits // 8}")


def samples(sort: Sort, count: int, rng: Any) -> Array:
    """Return numbers of a type: small ones, such as are near its limits, and any."""
    small = rng.integers(-4, 7, count)
    if sort.kind == "real":
        return np.where(rng.random(count) < 0.3, rng.integers(-40, 40, count), small).astype(np.float64)
    low, high = sort.limits
    kind = dtype_of(sort)
    edges = np.array([low, low + 1, high, high - 1, high // 2 + 1], dtype=kind)[rng.integers(0, 5, count)]
    wide = rng.integers(low, high, count, dtype=kind, endpoint=True)
    chance = rng.random(count)
    return np.where(chance < 0.55, small.astype(kind), np.where(chance < 0.75, edges, wide)).astype(kind)


def of_neutral(what: str, sort: Sort, k: Array) -> Array:
    """Return a word of an identity as numbers."""
    return k if what == "k" else np.full(len(k), neutral(what, sort).value, dtype_of(sort))


def _together(blocks: Iterable[tuple[Array, Array]]) -> Iterator[tuple[Array, Array]]:
    """Yield blocks of rows put together to many rows, as what they are compared with is sorted for each."""
    rows: list[Array] = []
    columns: list[Array] = []
    count = 0
    for some, values in blocks:
        if len(some):
            rows.append(some)
            columns.append(values)
            count += values.size
        if count > MANY:
            yield np.concatenate(rows), np.concatenate(columns)
            rows, columns, count = [], [], 0
    if rows:
        yield np.concatenate(rows), np.concatenate(columns)


@dataclass
class TreeLevel:
    """The functions of so many leaves: what each is made of, by places among all, and its values."""

    made: Array
    values: Array


@dataclass
class Trees:
    """Expressions by their number of leaves, no two with the same values."""

    names: Sequence[str]
    columns: dict[str, Array]
    levels: list[TreeLevel] = field(default_factory=list)
    tests: list[TreeLevel] = field(default_factory=list)
    _seen: Array = None
    _seen_tests: Array = None
    _rows: tuple[TreeRows, TreeRows] | None = None
    _rng: Any = field(default_factory=lambda: np.random.default_rng(9))

    def __post_init__(self) -> None:
        leaves = np.stack([self.columns[name] for name in self.names])
        width = PLAIN if leaves.dtype.kind == "f" else leaves.shape[1]  # no infinities, which a sum may not have
        self._weights = self._rng.integers(1, 1 << 62, width, dtype=np.uint64) | np.uint64(1)
        rows = np.array([(-1, place, 0, 0) for place in range(len(leaves))], np.int64)
        self.levels.append(TreeLevel(rows, leaves))
        none = np.zeros((0, 4), np.int64)
        self.tests.append(TreeLevel(none, np.zeros((0, width), bool)))
        self._seen = np.sort(self._keys(leaves))
        self._seen_tests = np.zeros(0, np.uint64)

    def _keys(self, values: Array) -> Array:
        values = np.ascontiguousarray(values[:, : len(self._weights)])
        if values.dtype == np.bool_:
            found = values.astype(np.uint64)
        elif values.dtype == np.float64:
            found = (values + 0.0).view(np.uint64)
        else:
            found = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.astype(np.uint64)
        found = (found ^ (found >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        return ((found ^ (found >> np.uint64(31))) * self._weights).sum(axis=1, dtype=np.uint64)

    def first(self, size: int) -> int:
        """Return the place of the first function of a size."""
        return sum(len(level.made) for level in self.levels[: size - 1])

    def grow(self, wanted: Callable[[Array], Array] | None = None) -> TreeLevel:
        """Add all functions of one leaf more; with `wanted`, which tells rows of values that are, return these only."""
        size = len(self.levels) + 1

        def kept() -> Iterator[tuple[Array, Array]]:
            for rows, columns in self._combinations(size):
                keep = (columns[:, 1:SAME] != columns[:, :1]).any(axis=1)  # else it is k, or a number
                if wanted is not None:
                    keep &= wanted(columns)
                yield rows[keep], columns[keep]

        made: list[Array] = []
        values: list[Array] = []
        for rows, columns in _together(kept()):
            rows, columns, self._seen = self._new(rows, columns, self._seen)
            made.append(rows)
            values.append(columns)
        level = TreeLevel(
            np.concatenate(made) if made else np.zeros((0, 4), np.int64),
            np.concatenate(values) if values else np.zeros((0, self.levels[0].values.shape[1])),
        )
        if wanted is None:
            self._rows = None
            self.levels.append(level)
            self._grow_tests(size)
        return level

    def _grow_tests(self, size: int) -> None:
        made, values = [], []
        pairs = itertools.chain.from_iterable(self._pairs(a, size - a, _TESTS) for a in range(1, size))
        for rows, columns in _together(pairs):
            rows, columns, self._seen_tests = self._new(rows, columns, self._seen_tests)
            made.append(rows)
            values.append(columns)
        self.tests.append(TreeLevel(np.concatenate(made), np.concatenate(values)))

    def _new(self, rows: Array, columns: Array, seen: Array) -> tuple[Array, Array, Array]:
        keys, places = np.unique(self._keys(columns), return_index=True)
        at = np.searchsorted(seen, keys)
        new = (
            (at == len(seen)) | (seen[np.minimum(at, len(seen) - 1)] != keys) if len(seen) else np.ones(len(keys), bool)
        )
        places = np.sort(places[new])
        return rows[places], columns[places], np.sort(np.concatenate([seen, keys[new]]))

    def _pairs(self, a: int, b: int, operators: Sequence[tuple[str, Any, bool]]) -> Iterator[tuple[Array, Array]]:
        """Yield one operation on all functions of two sizes, a block at a time."""
        one, other = self.levels[a - 1], self.levels[b - 1]
        first, second = self.first(a), self.first(b)
        with np.errstate(all="ignore"):
            for number, (_, function, commutes) in enumerate(operators):
                if commutes and a > b:
                    continue
                loop, swapped = (one, False) if len(one.made) <= len(other.made) else (other, True)
                rest = other if not swapped else one
                for place in range(len(loop.made)):
                    mine = loop.values[place]
                    columns = function(rest.values, mine) if swapped else function(mine, rest.values)
                    rows = np.empty((len(rest.made), 4), np.int64)
                    everyone = np.arange(len(rest.made))
                    rows[:, 0] = number
                    rows[:, 1] = first + (everyone if swapped else place)
                    rows[:, 2] = second + (place if swapped else everyone)
                    rows[:, 3] = 0
                    yield rows, columns

    def _combinations(self, size: int) -> Iterator[tuple[Array, Array]]:
        for a in range(1, size):
            yield from self._pairs(a, size - a, _BINARY)
        for tested in range(2, size - 1):
            tests = self.tests[tested - 1]
            before = sum(len(level.made) for level in self.tests[: tested - 1])
            for a in range(1, size - tested):
                b = size - tested - a
                yes, no = self.levels[a - 1], self.levels[b - 1]
                for place, mine in enumerate(tests.values):
                    for chosen in range(len(yes.made)):
                        columns = np.where(mine, yes.values[chosen], no.values)
                        rows = np.empty((len(no.made), 4), np.int64)
                        rows[:, 0], rows[:, 1], rows[:, 2] = len(_BINARY) + before + place, self.first(a) + chosen, 0
                        rows[:, 2] = self.first(b) + np.arange(len(no.made))
                        rows[:, 3] = tested
                        yield rows, columns

    # -- one of them ---------------------------------------------------------------------------------------------

    def rows(self) -> tuple[TreeRows, TreeRows]:
        """Return what each function, and each test, is made of."""
        if self._rows is None:
            numbers, tests = (
                [row for level in some for row in level.made.tolist()] for some in (self.levels, self.tests)
            )
            self._rows = numbers, tests
        return self._rows

    def expression(self, row: Sequence[int]) -> Expression:
        """Return what a row says, as an expression."""
        found: Expression = self._walk(row, number_name, lambda symbol: subtract if symbol == "-" else BUILDERS[symbol])
        return found

    def value(self, row: Sequence[int], columns: Mapping[str, Array]) -> Array:
        """Return what a row says on columns of numbers."""
        with np.errstate(all="ignore"):
            return self._walk(row, columns.__getitem__, _FUNCTIONS.__getitem__)

    def _walk(self, row: Sequence[int], leaf: Callable[[str], Any], meaning: Callable[[str], Any]) -> Any:
        numbers, tests = self.rows()

        def walk(row: Sequence[int]) -> Any:
            operator, a, b, tested = row
            if operator == -1:
                return leaf(self.names[a])
            if not tested:
                return meaning(_BINARY[operator][0])(walk(numbers[a]), walk(numbers[b]))
            test, p, q, _ = tests[operator - len(_BINARY)]
            condition = meaning(_TESTS[test][0])(walk(numbers[p]), walk(numbers[q]))
            return meaning("select")(condition, walk(numbers[a]), walk(numbers[b]))

        return walk(row)


_FUNCTIONS: Final[dict[str, Any]] = {name: function for name, function, _ in (*_BINARY, *_TESTS)} | {"select": np.where}


# ---- samples of identities ---------------------------------------------------------------------------------------


@dataclass
class SampleColumns:
    """Samples of the words of two parts, and where among them a part is the words of which identity."""

    sort: Sort
    columns: dict[str, Array]
    neutral: dict[tuple[tuple[str, ...], str], slice]

    def fits(self, values: Array, word: int, identity: tuple[str, ...], side: str) -> Array:
        """Tell of rows of values which are the other part's word where one side is an identity."""
        where = self.neutral[identity, side]
        other = self.columns[f"{'y' if side == 'left' else 'x'}{word}"][where]
        found: Array = (values[:, where] == other).all(axis=1)
        return found


def columns_of(sort: Sort, words: int, seed: int = 4) -> SampleColumns:
    """Return samples of single words or pairs, with and without identities."""
    rng = np.random.default_rng(seed)
    kinds: list[tuple[str, ...]] = (
        [(one,) for one in NEUTRAL] if words == 1 else [(a, b) for a in NEUTRAL[:-1] for b in NEUTRAL[:-1]]
    )
    if sort.kind == "word" and not sort.signed:  # -1 is the greatest, and 0 is the least
        kinds = [kind for kind in kinds if not {"-1", "least"} & set(kind)]
    count = PLAIN + 2 * EACH * len(kinds)
    names = [f"{side}{place}" for place in range(words) for side in "xy"] + ["k"]
    columns = {name: samples(sort, count, rng) for name in names}
    columns["k"][:SAME] = 5
    for name in names[:-1]:
        columns[name][:SAME] = rng.permutation(
            np.array([*(sort.limits if sort.kind == "word" else (-50, 60)), 1, 2, 7, 9], columns[name].dtype)
        )
    places: dict[tuple[tuple[str, ...], str], slice] = {}
    start = PLAIN
    for kind in kinds:
        for side, letter in (("left", "x"), ("right", "y")):
            where = places[kind, side] = slice(start, start + EACH)
            start += EACH
            for word, what in enumerate(kind):
                columns[f"{letter}{word}"][where] = of_neutral(what, sort, columns["k"][where])
    return SampleColumns(sort, columns, places)
