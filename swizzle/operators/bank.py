"""Expressions that differ on examples, and what is made of several of them without enumeration."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from swizzle.operators.splits import Array
from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression, constant, maximum, minimum, select

MOST: Final = 2500
"""Expressions of one size that are kept."""


@dataclass
class Bank:
    """Expressions of numbers and of conditions, no two of them equal on all examples; smallest first."""

    numbers: list[tuple[Expression, Array]] = field(default_factory=list)
    truths: list[tuple[Expression, Array]] = field(default_factory=list)
    seen: dict[bytes, Expression] = field(default_factory=dict)

    def add(self, node: Expression, column: Array) -> bool:
        """Keep an expression if it is a new function of the examples."""
        if not node.truth and np.isnan(column).any():
            return False
        key = (b"t" if node.truth else b"n") + (column if node.truth else column + 0.0).tobytes()
        if key in self.seen:
            return False
        self.seen[key] = node
        (self.truths if node.truth else self.numbers).append((node, column))
        return True

    def find(self, column: Array, *, truth: bool) -> Expression | None:
        """Return the expression that is this function of the examples."""
        return self.seen.get((b"t" if truth else b"n") + (column if truth else column + 0.0).tobytes())

    def grow(self, deadline: float, factors: bool) -> None:
        """Add all sums, differences, products, maxima, minima and comparisons of what is there with the leaves."""
        numbers, leaves = list(self.numbers), [each for each in self.numbers if not each[0].arguments]
        pairs = [(x, y) for place, x in enumerate(numbers) for y in leaves if y is not x]
        with np.errstate(all="ignore"):
            for (a, p), (b, q) in pairs:
                if time.perf_counter() > deadline or len(self.numbers) > MOST:
                    break
                for build, column in _combinations(a, p, b, q, factors):
                    self.add_late(build, column)
        for (a, p), (b, q) in itertools.combinations(numbers[:90], 2):
            if len(self.truths) > MOST:
                break
            for build, column in (
                (lambda a=a, b=b: e.less(a, b), p < q), (lambda a=a, b=b: e.less(b, a), q < p),
                (lambda a=a, b=b: e.less_equal(a, b), p <= q), (lambda a=a, b=b: e.less_equal(b, a), q <= p),
                (lambda a=a, b=b: e.equal(a, b), p == q),
            ):  # fmt: skip
                self.add_late(build, column, truth=True)
        for node, column in list(self.truths):
            self.add(e.negation(node), ~column)

    def add_late(self, build: Callable[[], Expression], column: Array, *, truth: bool = False) -> bool:
        """Keep an expression, built only if it is new."""
        key = (b"t" if truth else b"n") + (column if truth else column + 0.0).tobytes()
        if key in self.seen or (not truth and np.isnan(column).any()):
            return False
        try:
            node = build()
        except ArithmeticError:
            return False
        self.seen[key] = node
        (self.truths if truth else self.numbers).append((node, column))
        return True


def _combinations(
    a: Expression, p: Array, b: Expression, q: Array, factors: bool
) -> Iterator[tuple[Callable[[], Expression], Array]]:
    yield lambda: e.add(a, b), p + q
    yield lambda: e.subtract(a, b), p - q
    yield lambda: e.subtract(b, a), q - p
    yield lambda: maximum(a, b), np.maximum(p, q)
    yield lambda: minimum(a, b), np.minimum(p, q)
    if factors:
        yield lambda: e.multiply(a, b), p * q


def fitting(bank: Bank, column: Array, *, truth: bool, depth: int = 1) -> Expression | None:
    """Return an expression that is this function of the examples: one of the bank's, or made of several, with choices
    in each other to a `depth`."""
    found = bank.find(column, truth=truth)
    if found is not None:
        return found
    if (column == column[0]).all():
        return constant(bool(column[0])) if truth else constant(float(column[0]))
    if truth:
        some = [(node, each) for node, each in bank.truths if not (column & ~each).any()]
        found = _cover(some, lambda each: ~each, ~column, e.both)  # a conjunction: each false place is some part's
        if found is None:
            others = [(node, each) for node, each in bank.truths if not (each & ~column).any()]
            found = _cover(others, lambda each: each, column, e.either)
    else:
        below = [(node, each) for node, each in bank.numbers if (each <= column).all()]
        found = _cover(below, lambda each: each == column, np.ones(len(column), bool), maximum)
        if found is None:
            above = [(node, each) for node, each in bank.numbers if (each >= column).all()]
            found = _cover(above, lambda each: each == column, np.ones(len(column), bool), minimum)
    return found if found is not None else _chosen(bank, column, truth=truth, depth=depth)


def _cover(
    some: Sequence[tuple[Expression, Array]], covers: Callable[[Array], Array], needed: Array,
    together: Callable[..., Expression],
) -> Expression | None:  # fmt: skip
    """Return few expressions that together cover all that is needed, as one."""
    if not some:
        return None
    rows = np.stack([covers(each) for _, each in some])
    if not (rows.any(axis=0) | ~needed).all():
        return None
    weights = np.array([1.0 / (4 + node.size) for node, _ in some])
    chosen: list[Expression] = []
    left = needed.copy()
    while left.any() and len(chosen) < 5:
        best = int(np.argmax((rows & left).sum(axis=1) * weights))
        chosen.append(some[best][0])
        left &= ~rows[best]
    return None if left.any() else together(*chosen)


def _chosen(bank: Bank, column: Array, *, truth: bool, depth: int) -> Expression | None:
    """Return a choice between two of the bank's expressions, or between one and such a choice."""
    some = (bank.truths if truth else bank.numbers)[:900]
    tests = bank.truths[:1500]
    if not some or not tests:
        return None
    wrong = np.stack([each != column for _, each in some]).astype(np.float32)
    holds = np.stack([each for _, each in tests]).astype(np.float32)
    return _choice(some, tests, wrong, holds, np.ones(len(column), np.float32), depth)


def _choice(
    some: Sequence[tuple[Expression, Array]], tests: Sequence[tuple[Expression, Array]], wrong: Array, holds: Array,
    asked: Array, depth: int,
) -> Expression | None:  # fmt: skip
    """Return a choice that is right of all the examples that are asked about."""
    wrong = wrong * asked
    wrong_there = wrong @ holds.T
    wrong_elsewhere = wrong.sum(axis=1, keepdims=True) - wrong_there
    fine, elsewhere = ((each == 0).any(axis=0) for each in (wrong_there, wrong_elsewhere))
    options: list[tuple[int, int, Expression]] = []
    for test in np.flatnonzero(fine & elsewhere)[:60]:
        yes = some[int(np.argmax(wrong_there[:, test] == 0))][0]
        no = some[int(np.argmax(wrong_elsewhere[:, test] == 0))][0]
        node = select(tests[int(test)][0], yes, no)
        options.append((node.size, len(options), node))
    if options or depth == 1:
        return min(options)[2] if options else None
    enough = fine & (holds @ asked > 0.1 * asked.sum())
    for test in np.flatnonzero(enough)[:12]:
        rest = _choice(some, tests, wrong, holds, asked * (1 - holds[test]), depth - 1)
        if rest is not None:
            node = select(tests[int(test)][0], some[int(np.argmax(wrong_there[:, test] == 0))][0], rest)
            options.append((node.size, len(options), node))
    return min(options)[2] if options else None
