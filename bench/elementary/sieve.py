"""The functions of most leaves: each is made of parts that are kept, tried at once in compiled code, and not kept.

A function is tried on samples on which one side is an identity, then on ever more triples, and it is one that was not
met before. What passes has passed `QUICK` of `generation.py`'s tests, no more; all else is done on what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from bench.elementary.enumeration import EACH, SAME, SampleColumns, Trees
from templates.template import SPREAD

Array = Any
OPERATORS: Final = 5
"""The operations of two numbers; one above is the first test, as in `enumeration.Grown`."""
_SELECT: Final = OPERATORS + 2
_LEAF: Final = OPERATORS + 3
_DEEP: Final = 64
"""Nodes and waiting parts of a function of 8 leaves: 23 at most, of which each waits once."""
_EARLY: Final = 3
"""Triples before it is asked whether a function was met."""


@njit(cache=True)
def _applied(operator, one, other):  # type: ignore[no-untyped-def]
    if operator == 0:
        return one + other
    if operator == 1:
        return one * other
    if operator == 2:
        return one if one > other else other
    if operator == 3:
        return one if one < other else other
    return one - other


@njit(cache=True)
def _waiting(tests, operator, one, other, stack, top):  # type: ignore[no-untyped-def]
    """Put a function on the stack, its first part on top: places of functions, and operators as negative numbers."""
    if operator < OPERATORS:
        stack[top], stack[top + 1], stack[top + 2] = -1 - operator, other, one
        return top + 3
    test = tests[operator - OPERATORS]
    stack[top], stack[top + 1], stack[top + 2] = -1 - _SELECT, other, one
    stack[top + 3], stack[top + 4], stack[top + 5] = -1 - OPERATORS - test[0], test[2], test[1]
    return top + 6


@njit(cache=True)
def _unfolded(made, tests, operator, one, other, stack, code):  # type: ignore[no-untyped-def]
    """Write a function as code for a stack of numbers, and return how long that is."""
    top, length = _waiting(tests, operator, one, other, stack, 0), 0
    while top:
        top -= 1
        place = stack[top]
        if place < 0:
            code[length] = -1 - place
            length += 1
        elif made[place, 0] < 0:
            code[length] = _LEAF + made[place, 1]
            length += 1
        else:
            top = _waiting(tests, made[place, 0], made[place, 1], made[place, 2], stack, top)
    return length


@njit(cache=True)
def _value(code, length, x, y, k, work):  # type: ignore[no-untyped-def]
    top = 0
    for step in range(length):
        what = code[step]
        if what >= _LEAF:
            work[top] = x if what == _LEAF else y if what == _LEAF + 1 else k
            top += 1
        elif what == _SELECT:
            top -= 2
            work[top - 1] = work[top] if work[top - 1] else work[top + 1]
        else:
            top -= 1
            one, other = work[top - 1], work[top]
            if what < OPERATORS:
                work[top - 1] = _applied(what, one, other)
            else:
                work[top - 1] = one < other if what == OPERATORS else one <= other
    return work[0]


@njit(cache=True)
def _associative(code, length, triples, begin, end, work, exact):  # type: ignore[no-untyped-def]
    for place in range(begin, end):
        x, y, z, k = triples[0, place], triples[1, place], triples[2, place], triples[3, place]
        left = _value(code, length, _value(code, length, x, y, k, work), z, k, work)
        right = _value(code, length, x, _value(code, length, y, z, k, work), k, work)
        if left != right and (exact or not abs(left - right) <= 1e-12 * abs(right)):
            return False
    return True


@njit(cache=True)
def _met(seen, key, add):  # type: ignore[no-untyped-def]
    """Tell whether a key is in a set, which is a power of 2 of places of which 0 is free; add it if so wished."""
    mask = np.uint64(len(seen) - 1)
    place = key & mask
    while seen[place]:
        if seen[place] == key:
            return True
        place = (place + np.uint64(1)) & mask
    if add:
        seen[place] = key
    return False


class _Tables(NamedTuple):
    """What is known of the parts, what functions are tried on, and room to work in.

    `known` are values on samples of identities, first ones first; `targets` what these shall be. The last row of
    `made`, `uses`, `values` and `known` is for a part that is not kept.
    """

    made: Array
    uses: Array
    values: Array
    known: Array
    tests: Array
    tests_uses: Array
    truths: Array
    known_truths: Array
    targets: Array
    triples: Array
    seen: Array
    code: Array
    stack: Array
    work: Array
    bits: Array
    exact: bool


@njit(cache=True)
def _changes_nothing(tables, operator, one, other):  # type: ignore[no-untyped-def]
    """Tell whether a function is the other part on all samples of one identity on one side."""
    known, groups, work = tables.known, tables.targets.shape[1], tables.work
    for group in range(groups):
        fits = True
        for which in range(EACH):
            place = which * groups + group
            if operator < OPERATORS:
                work[0] = _applied(operator, known[one, place], known[other, place])
            else:
                work[0] = known[one if tables.known_truths[operator - OPERATORS, place] else other, place]
            if work[0] != tables.targets[which, group]:
                fits = False
                break
        if fits:
            return True
    return False


@njit(cache=True)
def _key(tables, operator, one, other, width):  # type: ignore[no-untyped-def]
    """Return a number of a function's values, which is not 0."""
    key, values, work = np.uint64(0), tables.values, tables.work
    for place in range(width):
        if operator < OPERATORS:
            work[0] = _applied(operator, values[one, place], values[other, place])
        else:
            work[0] = values[one if tables.truths[operator - OPERATORS, place] else other, place]
        work[0] += 0  # of -0.0
        key = (key ^ np.uint64(tables.bits[0])) * SPREAD
        key ^= key >> np.uint64(29)
    return key | np.uint64(1)


@njit(cache=True)
def _passes(tables, operator, one, other, width):  # type: ignore[no-untyped-def]
    uses = tables.uses[one] | tables.uses[other]
    if operator >= OPERATORS:
        uses |= tables.tests_uses[operator - OPERATORS]
    if uses & 3 != 3 or not _changes_nothing(tables, operator, one, other):
        return False
    code, work, triples = tables.code, tables.work, tables.triples
    length = _unfolded(tables.made, tables.tests, operator, one, other, tables.stack, code)
    if not _associative(code, length, triples, 0, _EARLY, work, tables.exact):
        return False
    key = _key(tables, operator, one, other, width)
    if _met(tables.seen, key, False):
        return False
    if not _associative(code, length, triples, _EARLY, triples.shape[1], work, tables.exact):
        return False
    _met(tables.seen, key, True)
    return True


@njit(cache=True)
def _kept(found, count, tables, operator, one, other):  # type: ignore[no-untyped-def]
    """Write a function down, with the part that is not kept."""
    if count == len(found):
        found = np.concatenate((found, np.empty_like(found)))
    found[count, 0], found[count, 1], found[count, 2] = operator, one, other
    found[count, 3:] = tables.made[-1]
    return found


@njit(cache=True)
def _of_two(tables, ones, others, width):  # type: ignore[no-untyped-def]
    """Return what passes of all operations on functions of two sizes."""
    found, count = np.empty((64, 6), np.int32), 0
    for one in range(ones[0], ones[1]):
        for operator in range(OPERATORS):
            swaps = operator < OPERATORS - 1
            if swaps and ones[0] > others[0]:
                continue
            for other in range(max(one, others[0]) if swaps else others[0], others[1]):
                if _passes(tables, operator, one, other, width):
                    found = _kept(found, count, tables, operator, one, other)
                    count += 1
    return found[:count]


@njit(cache=True)
def _of_choices(tables, tests, ones, others, width):  # type: ignore[no-untyped-def]
    found, count = np.empty((64, 6), np.int32), 0
    for test in range(tests[0], tests[1]):
        for one in range(ones[0], ones[1]):
            for other in range(others[0], others[1]):
                if _passes(tables, OPERATORS + test, one, other, width):
                    found = _kept(found, count, tables, OPERATORS + test, one, other)
                    count += 1
    return found[:count]


@njit(cache=True)
def _above(tables, found, count, operator, one, other, leaves, width):  # type: ignore[no-untyped-def]
    """Try all operations on a leaf and a function that is not kept."""
    groups, last = tables.targets.shape[1], len(tables.made) - 1
    tables.made[last, 0], tables.made[last, 1], tables.made[last, 2] = operator, one, other
    tables.uses[last] = tables.uses[one] | tables.uses[other]
    if operator < OPERATORS:
        for place in range(tables.values.shape[1]):
            tables.values[last, place] = _applied(operator, tables.values[one, place], tables.values[other, place])
        for place in range(EACH * groups):
            tables.known[last, place] = _applied(operator, tables.known[one, place], tables.known[other, place])
    else:
        test = operator - OPERATORS
        tables.uses[last] |= tables.tests_uses[test]
        for place in range(tables.values.shape[1]):
            tables.values[last, place] = tables.values[one if tables.truths[test, place] else other, place]
        for place in range(EACH * groups):
            tables.known[last, place] = tables.known[one if tables.known_truths[test, place] else other, place]
    if (tables.values[last, 1:SAME] == tables.values[last, 0]).all():  # it is k, or a number
        return found, count
    for leaf in range(leaves):
        for above in range(OPERATORS + 1):
            a, b = (last, leaf) if above == OPERATORS else (leaf, last)
            if _passes(tables, min(above, OPERATORS - 1), a, b, width):
                found = _kept(found, count, tables, min(above, OPERATORS - 1), a, b)
                count += 1
    return found, count


@njit(cache=True)
def _above_two(tables, ones, others, leaves, width):  # type: ignore[no-untyped-def]
    found, count = np.empty((64, 6), np.int32), 0
    for one in range(ones[0], ones[1]):
        for operator in range(OPERATORS):
            swaps = operator < OPERATORS - 1
            if swaps and ones[0] > others[0]:
                continue
            for other in range(max(one, others[0]) if swaps else others[0], others[1]):
                found, count = _above(tables, found, count, operator, one, other, leaves, width)
    return found[:count]


@njit(cache=True)
def _above_choices(tables, tests, ones, others, leaves, width):  # type: ignore[no-untyped-def]
    found, count = np.empty((64, 6), np.int32), 0
    for test in range(tests[0], tests[1]):
        for one in range(ones[0], ones[1]):
            for other in range(others[0], others[1]):
                found, count = _above(tables, found, count, OPERATORS + test, one, other, leaves, width)
    return found[:count]


class Sieve:
    """What passes, by its number of leaves; what was met at fewer leaves does not pass again."""

    def __init__(self, trees: Trees, columns: SampleColumns, triples: Array) -> None:
        self._trees = trees
        self._triples = np.ascontiguousarray(triples)
        starts = np.array([where.start for where in columns.neutral.values()])
        self._places = np.concatenate([starts + which for which in range(EACH)])
        others = [columns.columns["y0" if side == "left" else "x0"] for _, side in columns.neutral]
        self._targets = np.stack([
            np.array([other[start + which] for other, start in zip(others, starts, strict=True)])
            for which in range(EACH)
        ])  # fmt: skip
        self._seen = np.zeros(1 << 23, np.uint64)
        for size in range(2, len(trees.numbers.starts)):
            self.of(size)

    def of(self, size: int) -> Array:
        """Return the functions of so many leaves that pass, as rows; of those of one leaf less, if these are not kept,
        what is needed becomes known to the trees."""
        trees, kept = self._trees, len(self._trees.numbers.starts) - 1
        assert kept >= size - 2
        tables, width = self._tables(), trees.width
        found = [np.zeros((0, 6), np.int32)]
        for kind, parts in shapes(size):
            if max(parts) <= kept:
                found.append((_of_two if kind == 2 else _of_choices)(tables, *self._ranges(parts), width))
        if kept < size - 1:
            leaves = trees.numbers.starts[1]
            for kind, parts in shapes(size - 1):
                function = _above_two if kind == 2 else _above_choices
                found.append(function(tables, *self._ranges(parts), leaves, width))
        assert np.count_nonzero(self._seen) < len(self._seen) // 2
        rows = np.concatenate(found)
        return self._known(rows, len(trees.numbers.made))

    def _known(self, rows: Array, last: int) -> Array:
        deep = (rows[:, 1:3] == last).any(axis=1)
        made, which = np.unique(rows[deep, 3:], axis=0, return_inverse=True)
        numbers = self._trees.numbers
        numbers.uses = np.concatenate([numbers.uses, self._trees.uses(made)])
        numbers.made = np.concatenate([numbers.made, made])
        found = rows[:, :3].copy()
        part = found[deep, 1:]
        found[deep, 1:] = np.where(part == last, last + which.reshape(-1, 1), part)
        return found

    def _ranges(self, parts: tuple[int, ...]) -> list[tuple[int, int]]:
        *tests, one, other = parts
        ranges = [self._trees.tests.of(size) for size in tests]
        ranges += [self._trees.numbers.of(size) for size in (one, other)]
        return [(each.start, each.stop) for each in ranges]

    def _tables(self) -> _Tables:
        numbers, tests = self._trees.numbers, self._trees.tests
        values = np.concatenate([numbers.values, numbers.values[:1]])
        work = np.zeros(_DEEP, values.dtype)
        return _Tables(
            np.concatenate([numbers.made, numbers.made[:1]]), np.concatenate([numbers.uses, numbers.uses[:1]]), values,
            np.ascontiguousarray(values[:, self._places]), tests.made, tests.uses, tests.values,
            np.ascontiguousarray(tests.values[:, self._places]), self._targets, self._triples, self._seen,
            np.zeros(_DEEP, np.int64), np.zeros(_DEEP, np.int64), work, work.view(f"u{values.itemsize}"),
            values.dtype.kind != "f",
        )  # fmt: skip


def shapes(size: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield how many parts an operation has, and their sizes, which make up a size; those of a choice's test first."""
    for a in range(1, size):
        yield 2, (a, size - a)
    for tested in range(2, size - 1):
        for a in range(1, size - tested):
            yield 3, (tested, a, size - tested - a)
