"""Expressions that differ on examples, and what is made of several of them without enumeration.

How much is looked at is counted, not timed: a search ends in the same place on every machine, however busy it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from swizzle.operators.splits import Array
from swizzle.operators.work import Work
from symbolic.expressions import expression as e
from symbolic.expressions.bank import Bank, Made, exactly
from symbolic.expressions.expression import Expression, constant, maximum, minimum, select

MOST: Final = 2500
"""Numbers that are kept."""
COMPARED: Final = 200
"""So many numbers are compared with each other."""
MOST_TRUTHS: Final = 6000
A_CELL: Final = 5.0
A_PRODUCT: Final = 0.04
A_NUMBER: Final = 12_000.0
"""Nanoseconds for an entry of a new column, one of two matrices that are multiplied, a number's expression."""


_Kept: TypeAlias = tuple[Expression, Array]
_KeptTruth: TypeAlias = tuple[Callable[[], Expression], Array]
"""A condition's expression is made when it is asked for: of thousands that are told apart, few are."""
_Rule: TypeAlias = tuple[Callable[[Array, Array], Array], Callable[[Expression, Expression], Expression]]
"""What an operation on two is: of columns, and as an expression."""
_NUMBERS: Final[tuple[_Rule, ...]] = (
    (np.add, e.add), (np.subtract, e.subtract), (lambda p, q: q - p, lambda a, b: e.subtract(b, a)),
    (np.maximum, maximum), (np.minimum, minimum), (np.multiply, e.multiply),
)  # fmt: skip
"""Products come last: not every loop has them."""
_TRUTHS: Final[tuple[_Rule, ...]] = (
    (np.less, e.less), (np.greater, lambda a, b: e.less(b, a)), (np.less_equal, e.less_equal),
    (np.greater_equal, lambda a, b: e.less_equal(b, a)), (np.equal, e.equal),
)  # fmt: skip


class ExampleBank:
    """Expressions of numbers and of conditions, no two of them equal on all examples; smallest first."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.numbers: Bank[_Kept] = Bank(lambda rows: exactly(rows + 0.0))
        self.truths: Bank[_KeptTruth] = Bank()
        self.leaves: list[_Kept] = []  # the numbers that all others are combined with

    def add(self, node: Expression, column: Array) -> None:
        """Keep an expression if it is a new function of the examples."""
        if node.truth:
            self.truths.add(column[None], [(lambda: node, column)].__getitem__)
        elif not np.isnan(column).any():
            self.numbers.add(column[None], [(node, column)].__getitem__)

    def find(self, column: Array, *, truth: bool) -> Expression | None:
        """Return the expression that is this function of the examples."""
        if truth:
            condition = self.truths.find(column)
            return None if condition is None else condition[0]()
        number = self.numbers.find(column)
        return None if number is None else number[0]

    def grow(self, factors: bool) -> None:
        """Add all sums, differences, products, maxima, minima and comparisons of what is there with the leaves."""
        numbers, rules = list(self.numbers.made), _NUMBERS if factors else _NUMBERS[:-1]
        leaves = {node for node, _ in self.leaves}
        with np.errstate(all="ignore"):
            for each in numbers:
                if self.work.over:
                    break
                self.work.spend(len(self.leaves) * len(rules) * len(each[1]), A_CELL)
                others = [leaf for leaf in self.leaves if leaf[0] is not each[0]]
                before = len(self.numbers)
                self._combine(self.numbers, each, others, rules, MOST, _number)
                self.work.spend(len(self.numbers) - before, A_NUMBER)
        others = sorted((each for each in numbers if each[0] not in leaves), key=lambda each: each[0].size)
        compared = [*self.leaves, *others][:COMPARED]
        for place, each in enumerate(compared):
            if self.work.over:
                break
            self.work.spend((len(compared) - place) * len(_TRUTHS) * len(each[1]), A_CELL)
            self._combine(self.truths, each, compared[place + 1 :], _TRUTHS, MOST_TRUTHS, _comparison)
        if conditions := list(self.truths.made):
            rows = ~self.truths.rows
            self.truths.add(rows, lambda place: (partial(_negation, conditions[place][0]), rows[place]))

    @staticmethod
    def _combine(
        bank: Bank[Any], one: _Kept, others: Sequence[_Kept], rules: Sequence[_Rule], most: int,
        make: Callable[[_Rule, Expression, Expression, Array], Any],
    ) -> None:  # fmt: skip
        """Add what rules make of one and each of others, while there are not too many."""
        a, p = one
        fits = len(bank) + len(others) * len(rules) <= most
        for some in [others] if fits and others else [[each] for each in others]:
            if len(bank) > most:
                return
            q = np.stack([column for _, column in some])
            rows = np.stack([function(p, q) for function, _ in rules], axis=1).reshape(-1, len(p))
            keep = np.flatnonzero(~np.isnan(rows).any(axis=1)) if rows.dtype.kind == "f" else np.arange(len(rows))

            def made(place: int, some: Sequence[_Kept] = some, rows: Array = rows, keep: Array = keep) -> Any:
                other, rule = divmod(int(keep[place]), len(rules))
                return make(rules[rule], a, some[other][0], rows[keep[place]])

            bank.add(rows[keep], made)


def _number(rule: _Rule, a: Expression, b: Expression, column: Array) -> _Kept | None:
    try:
        return rule[1](a, b), column
    except ArithmeticError:
        return None


def _comparison(rule: _Rule, a: Expression, b: Expression, column: Array) -> _KeptTruth:
    return partial(rule[1], a, b), column


def _negation(condition: Callable[[], Expression]) -> Expression:
    return e.negation(condition())


def _those(bank: Bank[Made], fits: Callable[[Array], Array]) -> list[Made]:
    """Return what of a bank has a column that fits everywhere."""
    return [bank.made[place] for place in np.flatnonzero(fits(bank.rows).all(axis=1))] if len(bank) else []


def fitting(bank: ExampleBank, column: Array, *, truth: bool, depth: int = 1) -> Expression | None:
    """Return an expression that is this function of the examples: one of the bank's, or made of several, with choices
    in each other to a `depth`."""
    found = bank.find(column, truth=truth)
    if found is not None:
        return found
    if (column == column[0]).all():
        return constant(bool(column[0])) if truth else constant(float(column[0]))
    if truth:
        some = [(condition(), each) for condition, each in _those(bank.truths, lambda rows: rows | ~column)]
        found = _cover(some, lambda each: ~each, ~column, e.both)  # a conjunction: each false place is some part's
        if found is None:
            others = [(condition(), each) for condition, each in _those(bank.truths, lambda rows: ~rows | column)]
            found = _cover(others, lambda each: each, column, e.either)
    else:
        below = _those(bank.numbers, lambda rows: rows <= column)
        found = _cover(below, lambda each: each == column, np.ones(len(column), bool), maximum)
        if found is None:
            above = _those(bank.numbers, lambda rows: rows >= column)
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
        best = int(np.argmax(np.count_nonzero(rows & left, axis=1) * weights))
        chosen.append(some[best][0])
        left &= ~rows[best]
    return None if left.any() else together(*chosen)


def _chosen(bank: ExampleBank, column: Array, *, truth: bool, depth: int) -> Expression | None:
    """Return a choice between two of the bank's expressions, or between one and such a choice."""
    tests = bank.truths.made[:MOST_TRUTHS]
    some = [(condition(), each) for condition, each in tests[:900]] if truth else bank.numbers.made[:900]
    if not some or not tests:
        return None
    wrong = ((bank.truths if truth else bank.numbers).rows[:900] != column).astype(np.float32)
    holds = bank.truths.rows[:MOST_TRUTHS].astype(np.float32)
    return _choice(some, tests, wrong, holds, np.ones(len(column), np.float32), depth, bank.work)


def _choice(
    some: Sequence[_Kept], tests: Sequence[_KeptTruth], wrong: Array, holds: Array,
    asked: Array, depth: int, work: Work,
) -> Expression | None:  # fmt: skip
    """Return a choice that is right of all the examples that are asked about."""
    work.spend(wrong.shape[0] * holds.size, A_PRODUCT)
    wrong = wrong * asked
    wrong_there = wrong @ holds.T
    wrong_elsewhere = wrong.sum(axis=1, keepdims=True) - wrong_there
    fine, elsewhere = (each.min(axis=0) == 0 for each in (wrong_there, wrong_elsewhere))
    options: list[tuple[int, int, Expression]] = []
    for test in np.flatnonzero(fine & elsewhere)[:60]:
        yes = some[int(np.argmax(wrong_there[:, test] == 0))][0]
        no = some[int(np.argmax(wrong_elsewhere[:, test] == 0))][0]
        node = select(tests[int(test)][0](), yes, no)
        options.append((node.size, len(options), node))
    if options or depth == 1:
        return min(options)[2] if options else None
    enough = fine & (holds @ asked > 0.1 * asked.sum())
    for test in itertools.takewhile(lambda _: not work.over, np.flatnonzero(enough)[:12]):
        rest = _choice(some, tests, wrong, holds, asked * (1 - holds[test]), depth - 1, work)
        if rest is not None:
            node = select(tests[int(test)][0](), some[int(np.argmax(wrong_there[:, test] == 0))][0], rest)
            options.append((node.size, len(options), node))
    return min(options)[2] if options else None
