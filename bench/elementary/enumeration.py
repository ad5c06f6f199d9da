"""All expressions of a few leaves, told apart by their values on samples: the candidates of the table.

The paper enumerates spellings in a canonical form; here two spellings of one function are one, the smaller, so that an
operator is met at its smallest size. Only operators with an identity are wanted, on one side at least, as a reduction
has to begin with something. That is tried on samples of its own, in which x, or y, is the word of an identity.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import numpy as np

from swizzle.operators.elementary import neutral
from symbolic.expressions.expression import BUILDERS, Expression, number_name, subtract
from symbolic.expressions.formulas import Sort
from templates.template import mixed

NEUTRAL: Final = ("0", "1", "-1", "least", "greatest", "k")
"""What a word of an identity may be: a number, the least or the greatest of the type (of reals an infinity), or k."""

Array = Any
PLAIN: Final = 160
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
    return np.dtype(np.float64 if sort.kind == "real" else f"{'i' if sort.signed else 'u'}{sort.bits // 8}")


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


@lru_cache(maxsize=8)
def corners(sort: Sort, count: int) -> Array:
    """Return eight rows of so many numbers of which each is small, near a limit of the type, or near the middle."""
    if sort.kind == "real":
        some = [-9, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 0.5, -0.5, 0.25, 100, -300]
    else:
        low, high = sort.limits
        half = high // 2
        some = [*range(-4 if sort.signed else 0, 6), low, low + 1, low + 2, high, high - 1, high - 2, half, half + 1,
                half - 1, high - half // 2, 1 << (sort.bits // 2), 1 << (sort.bits // 2 + 1)]  # fmt: skip
        some += [-half, -half - 1, -(1 << (sort.bits // 2))] if sort.signed else [half + 2]
    found = np.array(some, dtype_of(sort))
    return found[np.random.default_rng(5).integers(0, len(some), (8, count))]


def of_neutral(what: str, sort: Sort, k: Array) -> Array:
    """Return a word of an identity as numbers."""
    return k if what == "k" else np.full(len(k), neutral(what, sort).value, dtype_of(sort))


def _together(blocks: Iterable[tuple[Array, Array]], most: int = MANY) -> Iterator[tuple[Array, Array]]:
    """Yield blocks of rows put together to many rows, as what they are compared with is sorted for each."""
    rows: list[Array] = []
    columns: list[Array] = []
    count = 0
    for some, values in blocks:
        if len(some):
            rows.append(some)
            columns.append(values)
            count += values.size
        if count > most:
            yield np.concatenate(rows), np.concatenate(columns)
            rows, columns, count = [], [], 0
    if rows:
        yield np.concatenate(rows), np.concatenate(columns)


@dataclass
class Grown:
    """Functions, or tests, of all sizes: what each is made of, by places among all, its values, and which names it has.

    What a function is made of is an operation and two functions; of a choice, `len(_BINARY)` plus the place of a test,
    what is chosen, and what else; of a name, -1 and the place of the name. Names are bits.
    """

    made: Array
    values: Array
    uses: Array
    starts: list[int]
    seen: Array

    def of(self, size: int) -> range:
        """Return the places of those of a size."""
        return range(self.starts[size - 1], self.starts[size])

    def add(self, made: Array, values: Array, uses: Array) -> None:
        """Add those of one leaf more."""
        self.made = np.concatenate([self.made, made])
        self.values = np.concatenate([self.values, values])
        self.uses = np.concatenate([self.uses, uses])
        self.starts.append(len(self.made))


@dataclass
class Trees:
    """Expressions by their number of leaves, no two with the same values."""

    names: Sequence[str]
    columns: dict[str, Array]
    numbers: Grown = field(init=False)
    tests: Grown = field(init=False)

    def __post_init__(self) -> None:
        leaves = np.stack([self.columns[name] for name in self.names])
        self.width = PLAIN if leaves.dtype.kind == "f" else leaves.shape[1]  # no infinities, which a sum may not have
        rng = np.random.default_rng(9)
        self._weights = rng.integers(1, 1 << 62, self.width, dtype=np.uint64) | np.uint64(1)
        rows = np.array([(-1, place, 0) for place in range(len(leaves))], np.int32)
        uses = 1 << np.arange(len(leaves), dtype=np.int8)
        self.numbers = Grown(rows, leaves, uses, [0, len(leaves)], np.sort(self.keys(leaves)))
        none = np.zeros((0, leaves.shape[1]), bool)
        self.tests = Grown(np.zeros((0, 3), np.int32), none, uses[:0], [0, 0], np.zeros(0, np.uint64))

    def keys(self, values: Array) -> Array:
        """Return a number for each row of values, by which rows are told apart."""
        values = np.ascontiguousarray(values[:, : self.width])
        if values.dtype == np.bool_:
            found = values.astype(np.uint64)
        elif values.dtype == np.float64:
            found = (values + 0.0).view(np.uint64)
        else:
            found = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.astype(np.uint64)
        found = mixed(found)
        return ((found ^ (found >> np.uint64(31))) * self._weights).sum(axis=1, dtype=np.uint64)

    def grow(self) -> None:
        """Add all functions of one leaf more, and all tests."""
        size = len(self.numbers.starts)
        self._add(self.numbers, self._combinations(size, self.numbers.values, self.tests.values), varied=True)
        values = self.numbers.values
        self._add(
            self.tests,
            itertools.chain.from_iterable(self._pairs(a, size - a, _TESTS, values) for a in range(1, size)),
            varied=False,
        )

    def _add(self, grown: Grown, blocks: Iterable[tuple[Array, Array]], *, varied: bool) -> None:
        def kept() -> Iterator[tuple[Array, Array]]:
            for rows, columns in blocks:
                if varied:  # else it is k, or a number
                    keep = (columns[:, 1:SAME] != columns[:, :1]).any(axis=1)
                    rows, columns = rows[keep], columns[keep]
                yield rows, columns

        made, values = [grown.made[:0]], [grown.values[:0]]
        for rows, columns in _together(kept()):
            keys, places = np.unique(self.keys(columns), return_index=True)
            new = ~within(keys, grown.seen)
            places = np.sort(places[new])
            grown.seen = np.sort(np.concatenate([grown.seen, keys[new]]))
            made.append(rows[places])
            values.append(columns[places])
        rows = np.concatenate(made)
        grown.add(rows, np.concatenate(values), self.uses(rows) if varied else self._uses_of_tests(rows))

    def sought(self, few: Array, fits: Callable[[Array], Array]) -> Iterator[Array]:
        """Yield functions of one leaf more as rows, in blocks, and keep none of them: those whose values on a few
        samples fit. A function may be met more than once."""
        values, tests = (np.ascontiguousarray(each.values[:, few]) for each in (self.numbers, self.tests))
        blocks = (
            (found, np.zeros((len(found), 1), bool))
            for rows, columns in self._combinations(len(self.numbers.starts), values, tests)
            if len(found := rows[fits(columns)])
        )
        for rows, _ in _together(blocks, 1 << 18):
            yield rows

    def values(self, rows: Array) -> Array:
        """Return the values of functions whose parts are known."""
        one, other = (self.numbers.values[rows[:, side]] for side in (1, 2))
        found = np.empty_like(one)
        with np.errstate(all="ignore"):
            for kind in np.unique(np.minimum(rows[:, 0], len(_BINARY))):
                where = np.flatnonzero(np.minimum(rows[:, 0], len(_BINARY)) == kind)
                if kind < len(_BINARY):
                    found[where] = _BINARY[kind][1](one[where], other[where])
                else:
                    tests = self.tests.values[rows[where, 0] - len(_BINARY)]
                    found[where] = np.where(tests, one[where], other[where])
        return found

    def _pairs(
        self, a: int, b: int, operators: Sequence[tuple[str, Any, bool]], values: Array
    ) -> Iterator[tuple[Array, Array]]:
        """Yield one operation on all functions of two sizes, a block at a time."""
        one, other = self.numbers.of(a), self.numbers.of(b)
        swapped = len(one) > len(other)
        loop, rest = (other, one) if swapped else (one, other)
        theirs = values[rest.start : rest.stop]
        with np.errstate(all="ignore"):
            for number, (_, function, commutes) in enumerate(operators):
                if commutes and a > b:
                    continue
                for place in loop:
                    columns = function(theirs, values[place]) if swapped else function(values[place], theirs)
                    rows = np.empty((len(rest), 3), np.int32)
                    rows[:, 0] = number
                    rows[:, 2 if swapped else 1] = place
                    rows[:, 1 if swapped else 2] = np.arange(rest.start, rest.stop)
                    yield rows, columns

    def _combinations(self, size: int, values: Array, tests: Array) -> Iterator[tuple[Array, Array]]:
        for a in range(1, size):
            yield from self._pairs(a, size - a, _BINARY, values)
        for tested in range(2, size - 1):
            for a in range(1, size - tested):
                yield from self._choices(self.tests.of(tested), a, size - tested - a, values, tests)

    def _choices(self, tested: range, a: int, b: int, values: Array, tests: Array) -> Iterator[tuple[Array, Array]]:
        """Yield choices between functions of two sizes, a block at a time: along what there are most of."""
        yes, no = self.numbers.of(a), self.numbers.of(b)
        parts = (tested, yes, no)
        along = max(range(3), key=lambda which: len(parts[which]))
        many = parts[along]
        others = [part for which, part in enumerate(parts) if which != along]
        held: list[Any] = [tests, values, values]
        for chosen in itertools.product(*others):
            places: list[Any] = list(chosen)
            places.insert(along, slice(many.start, many.stop))
            test, one, other = (held[which][places[which]] for which in range(3))
            columns = np.where(test, one, other)
            rows = np.empty((len(many), 3), np.int32)
            for which in range(3):
                rows[:, which] = np.arange(many.start, many.stop) if which == along else places[which]
            rows[:, 0] += len(_BINARY)
            yield rows, columns

    # -- some of them --------------------------------------------------------------------------------------------

    def uses(self, rows: Array) -> Array:
        """Return the names that rows have, as bits."""
        uses = self.numbers.uses[rows[:, 1]] | self.numbers.uses[rows[:, 2]]
        choice = rows[:, 0] >= len(_BINARY)
        uses[choice] |= self.tests.uses[rows[choice, 0] - len(_BINARY)]
        return uses

    def _uses_of_tests(self, rows: Array) -> Array:
        return self.numbers.uses[rows[:, 1]] | self.numbers.uses[rows[:, 2]]

    def values_of(self, rows: Array, inputs: Sequence[Array]) -> Array:
        """Return the values of many functions, each on its own numbers, or all on the same: (row, sample)."""
        kinds = np.minimum(rows[:, 0], len(_BINARY))
        found = np.empty((len(rows), inputs[0].shape[1]), inputs[0].dtype)
        for kind in range(-1, len(_BINARY) + 1):
            where = np.flatnonzero(kinds == kind)
            if not len(where):
                continue
            some = rows.take(where, axis=0)
            if kind == -1:
                for place, each in enumerate(inputs):
                    named = where[some[:, 1] == place]
                    found[named] = each if len(each) == 1 else each.take(named, axis=0)
                continue
            given = [each if len(each) == 1 else each.take(where, axis=0) for each in inputs]
            one, other = (self.values_of(self.numbers.made.take(some[:, side], axis=0), given) for side in (1, 2))
            if kind < len(_BINARY):
                found[where] = _BINARY[kind][1](one, other)
                continue
            tests = self.tests.made[some[:, 0] - len(_BINARY)]
            a, b = (self.values_of(self.numbers.made[tests[:, side]], given) for side in (1, 2))
            found[where] = np.where(np.where(tests[:, :1] == 0, a < b, a <= b), one, other)
        return found

    def expression(self, row: Sequence[int]) -> Expression:
        """Return what a row says, as an expression."""
        found: Expression = self._walk(row, number_name, lambda symbol: subtract if symbol == "-" else BUILDERS[symbol])
        return found

    def value(self, row: Sequence[int], columns: Mapping[str, Array]) -> Array:
        """Return what a row says on columns of numbers."""
        with np.errstate(all="ignore"):
            return self._walk(row, columns.__getitem__, _FUNCTIONS.__getitem__)

    def _walk(self, row: Sequence[int], leaf: Callable[[str], Any], meaning: Callable[[str], Any]) -> Any:
        def walk(row: Sequence[int]) -> Any:
            operator, a, b = row
            if operator == -1:
                return leaf(self.names[a])
            one, other = walk(self.numbers.made[a]), walk(self.numbers.made[b])
            if operator < len(_BINARY):
                return meaning(_BINARY[operator][0])(one, other)
            test, p, q = self.tests.made[operator - len(_BINARY)]
            condition = meaning(_TESTS[test][0])(walk(self.numbers.made[p]), walk(self.numbers.made[q]))
            return meaning("select")(condition, one, other)

        return walk(row)


def within(keys: Array, seen: Array) -> Array:
    """Tell which keys are among others, which are sorted."""
    if not len(seen):
        return np.zeros(len(keys), bool)
    return seen[np.minimum(np.searchsorted(seen, keys), len(seen) - 1)] == keys


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
