"""Index expressions over a few names, the smallest first, told apart by their values at points: NumPy columns.

A term's weight is the number of its names, numbers and operations; `2 * d` weighs 2, as it is one thing to whoever
reads it. Of terms with the same values at all points the first is kept. Where a term only has to be right at some
points, its last operation is undone rather than tried: `want - a` is looked up.

Where the expressions of a loop are asked: at each size, distance and element; and the terms over these points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.scans.algorithm import DISTANCE, ELEMENT, SIZE, ScanLoop, Way
from swizzle.scans.network import Network
from symbolic.expressions import expression as e
from symbolic.expressions.bank import Bank, Block, exactly
from symbolic.expressions.columns import ON_COLUMNS, on_columns
from symbolic.expressions.expression import ONE, ZERO, Expression

Column: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_APPLIED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"-": np.subtract, **ON_COLUMNS}
_MADE: Final[Mapping[str, Callable[[Expression, Expression], Expression]]] = {
    "+": e.add, "-": e.subtract, "%": e.modulo,
    "&": lambda a, b: e.bits("&", a, b), "|": lambda a, b: e.bits("|", a, b), "^": lambda a, b: e.bits("^", a, b),
}  # fmt: skip
COMMUTATIVE: Final = "+&|^"
HEAVY: Final[Mapping[str, int]] = {"+": 1, "-": 1, "%": 1, "&": 2, "|": 3, "^": 3}
"""What an operation weighs: remainders read more easily than bits."""
TERMS: Final = 2500
"""At most so many terms, the smallest first."""


class IndexTerm:
    """A term as it was put together; its expression is made when it is asked for."""

    __slots__ = ("_expression", "arguments", "operator", "weight")

    def __init__(self, weight: int, operator: str, arguments: tuple[Any, ...], expression: Any = None) -> None:
        self.weight, self.operator, self.arguments = weight, operator, arguments
        self._expression: Expression | None = expression

    @property
    def expression(self) -> Expression:
        if self._expression is None:
            a, b = (each.expression for each in self.arguments)
            self._expression = _MADE[self.operator](a, b)
        return self._expression


class IndexTerms(Bank[IndexTerm]):
    """All terms up to a weight over names whose values at points are given; `bitwise` with `&`, `|` and `^`.

    `numbers` are leaves of weight 2 beside the names: multiples of a name, say. `moduli` are leaves that a remainder
    may be of.
    """

    def __init__(
        self,
        leaves: Sequence[tuple[Expression, int, Column]],
        moduli: Sequence[Expression],
        weight: int,
        *,
        bitwise: bool,
    ) -> None:
        super().__init__(self._keys_of)
        self.operators = "+-%&|^" if bitwise else "+-%"
        random = np.random.default_rng(20091)
        self._digits = random.integers(1, 1 << 24, (len(leaves[0][2]), 2)).astype(np.float64)
        assert weight <= 8, "of four leaves at most, whose values keep their keys exact"
        self._moduli: list[int] = []
        self._zero: set[int] = set()
        for each in range(1, weight + 1):
            some = [(expression, column) for expression, heavy, column in leaves if heavy == each]
            self.grow(each, itertools.chain(self._leaves(each, some, moduli), self._combined(each)))

    def _keys_of(self, rows: npt.NDArray[Any]) -> Iterable[Hashable]:
        """Return a key of each row; sums of products of whole numbers that small are exact."""
        return exactly(rows.astype(np.float64) @ self._digits)

    def _leaves(
        self, weight: int, some: Sequence[tuple[Expression, Column]], moduli: Sequence[Expression]
    ) -> Iterator[Block[IndexTerm]]:
        for expression, column in some:
            place = len(self)
            yield column[None], [IndexTerm(weight, "", (), expression)].__getitem__
            if len(self) > place and expression in moduli:
                self._moduli.append(place)
            if len(self) > place and expression is ZERO:  # is compared with, and computed with never
                self._zero.add(place)

    def _combined(self, weight: int) -> Iterator[Block[IndexTerm]]:
        rows = self.rows if len(self) else np.zeros((0, len(self._digits)), np.int64)
        for operator, left in itertools.product(self.operators, range(1, weight - 1)):
            right = weight - HEAVY[operator] - left
            if right not in self.levels or (operator in COMMUTATIVE and left > right):
                continue
            places = [j for j in self.levels[right] if (j in self._moduli if operator == "%" else j not in self._zero)]
            for i in self.levels[left]:
                others = [j for j in places if j >= i] if operator in COMMUTATIVE and left == right else places
                if i in self._zero or not others or len(self) >= TERMS:
                    continue
                made = _APPLIED[operator](rows[i][None], rows[others])
                yield made, partial(self._term, weight, operator, i, others)

    def _term(self, weight: int, operator: str, left: int, right: Sequence[int], place: int) -> IndexTerm:
        return IndexTerm(weight, operator, (self.made[left], self.made[right[place]]))


# ---- conditions ------------------------------------------------------------------------------------------------------

_COMPARED: Final[Mapping[str, tuple[Callable[[Any, Any], Any], Callable[[Expression, Expression], Expression]]]] = {
    "==": (np.equal, e.equal), "!=": (np.not_equal, lambda a, b: e.negation(e.equal(a, b))),
    "<": (np.less, e.less), ">=": (np.greater_equal, lambda a, b: e.less_equal(b, a)),
}  # fmt: skip
COMPARED: Final = 450
"""At most so many terms are compared with others, the lightest."""
AGAINST: Final = 3
"""Terms of this weight at most are compared with."""
FEW: Final = 600
"""Comparisons of which two are put together."""
FEWER: Final = 100
"""Of which three are."""


class Comparisons:
    """All comparisons of a bank's terms with light ones, by weight, told apart by their values at the points."""

    def __init__(self, bank: IndexTerms) -> None:
        self._bank = bank
        heavy = min(len(bank), COMPARED)
        light = sum(term.weight <= AGAINST for term in bank.made[:heavy])
        columns = bank.rows
        weights: list[npt.NDArray[Any]] = []
        rows: list[Mask] = []
        made: list[tuple[str, int]] = []
        own = np.array([term.weight for term in bank.made[:heavy]])
        for b in range(light):
            twice = 3 * ((own > 1) & (bank.made[b].weight > 1))
            for operator, (apply, _) in _COMPARED.items():
                rows.append(apply(columns[:heavy], columns[b][None]))
                weights.append(own + twice + (bank.made[b].weight + 1))
                made.append((operator, b))
        masks, weight = np.concatenate(rows), np.concatenate(weights)
        order = np.argsort(weight, kind="stable")
        packed = np.ascontiguousarray(np.packbits(masks[order], axis=1))
        _, first = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True)
        chosen = order[np.sort(first)]
        self.masks: Mask = masks[chosen]
        """The values of all conditions, one a row, the lightest first."""
        self.weights = weight[chosen]
        self._made = [(*made[each // heavy], int(each % heavy)) for each in chosen.tolist()]

    def expression(self, number: int) -> Expression:
        """Return a condition."""
        operator, b, a = self._made[number]
        return _COMPARED[operator][1](self._bank.made[a].expression, self._bank.made[b].expression)

    def matching(self, where: Mask, want: Mask) -> Iterator[tuple[int, Expression, Mask]]:
        """Yield the conditions, or two or three that hold together, that are as wanted at some points, by weight."""
        seen, wanted = self.masks[:, where], want[where]
        single = np.nonzero((seen == wanted).all(axis=1))[0]
        found: list[tuple[int, tuple[int, ...]]] = [(int(self.weights[each]), (int(each),)) for each in single]
        wider = np.nonzero((seen | ~wanted).all(axis=1))[0]
        wider = wider[~np.isin(wider, single)][:FEW]
        beyond = (seen[wider] & ~wanted).astype(np.float32)
        for a, b in zip(*np.nonzero(np.triu(beyond @ beyond.T == 0)), strict=True):
            both_weigh = int(self.weights[wider[a]] + self.weights[wider[b]]) + 1
            found.append((both_weigh, (int(wider[a]), int(wider[b]))))
        if not found:
            few = wider[:FEWER]
            a, b = np.nonzero(np.triu(np.ones((len(few), len(few)), bool), 1))
            left = beyond[a] * beyond[b]  # what two let through
            for pair, c in zip(*np.nonzero(left @ beyond[: len(few)].T == 0), strict=True):
                if b[pair] < c:
                    three = (int(few[a[pair]]), int(few[b[pair]]), int(few[c]))
                    found.append((int(sum(self.weights[each] for each in three)) + 2, three))
        met = set[bytes]()
        for weight, numbers in sorted(found):
            mask = np.logical_and.reduce(self.masks[list(numbers)])
            if mask.tobytes() not in met:
                met.add(mask.tobytes())
                yield weight, e.both(*map(self.expression, numbers)), mask


class Skeleton(Struct, frozen=True):
    """A loop without its expressions; `steps` is how many a round has."""

    way: Way
    least: int
    most: int
    steps: int

    @staticmethod
    def of(loop: ScanLoop) -> Skeleton:
        """Return what a loop is without its expressions."""
        return Skeleton(loop.way, loop.least, loop.most, len(loop.steps))

    def distances(self, base: int, size: int) -> list[int]:
        """Return what d is, round by round."""
        return ScanLoop(self.way, base, self.least, self.most, ()).distances(size)


class LoopPoints:
    """Where the expressions of a loop are asked: each size, round and element; with the terms over them.

    `wide` is with half the size, too; `mirrored`, with elements numbered from the other end on.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        base: int,
        among: Sequence[int],
        *,
        with_size: bool,
        wide: bool = False,
        mirrored: bool = False,
    ) -> None:
        self.base, self.with_size, self.skeleton, self.wide, self.mirrored = base, with_size, skeleton, wide, mirrored
        self.rounds = [(size, distance) for size in among for distance in skeleton.distances(base, size)]
        starts = np.cumsum([0, *(size for size, _ in self.rounds)])
        self.slices = [slice(a, b) for a, b in itertools.pairwise(starts.tolist())]
        self.element = np.concatenate([np.arange(size) for size, _ in self.rounds] or [np.zeros(0, np.int64)])
        self.distance = np.repeat([d for _, d in self.rounds], [n for n, _ in self.rounds])
        self.size = np.repeat([n for n, _ in self.rounds], [n for n, _ in self.rounds])

    def bank(self, weight: int) -> IndexTerms:
        """Return the terms up to a weight."""
        leaves: list[tuple[Expression, int, Column]] = [(ZERO, 1, 0 * self.element)]
        if self.mirrored:
            leaves.append((e.subtract(e.subtract(SIZE, ONE), ELEMENT), 1, self.size - 1 - self.element))
        else:
            leaves.append((ELEMENT, 1, self.element))
        moduli: list[Expression] = []
        if self.skeleton.way in ("up", "down", "last"):
            moduli.append(DISTANCE)
            leaves.append((DISTANCE, 1, self.distance))
            for times in range(2, self.base + 1):
                multiple = e.multiply(e.constant(times), DISTANCE)
                leaves.append((multiple, 2, times * self.distance))
                moduli += [multiple] if times == self.base else []
        if self.with_size:
            leaves.append((SIZE, 1, self.size))
            moduli.append(SIZE)
        if self.wide:
            leaves.append((e.floor_divide(SIZE, e.constant(self.base)), 2, self.size // self.base))
        numbers = {1, 2} | ({self.base**self.skeleton.least * each for each in (1, self.base)})
        for number in sorted(numbers):
            leaves.append((e.constant(number), 1 + (number > 2), np.full(len(self.element), number)))
        moduli += [e.constant(number) for number in sorted(numbers) if number > 1]
        return IndexTerms(leaves, moduli, weight, bitwise=self.base == 2)

    @cached_property
    def terms(self) -> IndexTerms:
        """The terms that a source may be."""
        return self.bank(8)

    @cached_property
    def conditions(self) -> Comparisons:
        """What a condition may be."""
        return Comparisons(self.terms)

    def of(self, example: Network | None) -> list[slice]:
        """Return where the rounds at an example's size are."""
        own = None if example is None else example.size
        return [place for place, (size, _) in zip(self.slices, self.rounds, strict=True) if size == own]

    def values(self, expression: Expression) -> Column:
        """Return an expression's values."""
        names = {"i": self.element, "d": self.distance, "N": self.size}
        return np.broadcast_to(on_columns(expression, names), (len(self.element),))

    def source(self, where: Mask, want: Column) -> Expression | None:
        """Return the lightest term that has these values where a mask holds."""
        columns = self.terms.rows[:, where]
        fits = np.nonzero((columns == want[where]).all(axis=1))[0]
        return self.terms.made[int(fits[0])].expression if len(fits) else None
