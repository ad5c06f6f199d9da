"""Where the expressions of a loop are asked: at each size, distance and element; and the terms over these points."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from swizzle.scans.algorithm import DISTANCE, ELEMENT, SIZE, ScanLoop, Way
from swizzle.scans.bank import Column, Comparisons, IndexTerms, Mask
from swizzle.scans.network import Network
from symbolic.expressions.columns import on_columns
from symbolic.expressions.expression import ONE, ZERO, Expression, constant, floor_divide, multiply, subtract


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
            leaves.append((subtract(subtract(SIZE, ONE), ELEMENT), 1, self.size - 1 - self.element))
        else:
            leaves.append((ELEMENT, 1, self.element))
        moduli: list[Expression] = []
        if self.skeleton.way in ("up", "down", "last"):
            moduli.append(DISTANCE)
            leaves.append((DISTANCE, 1, self.distance))
            for times in range(2, self.base + 1):
                multiple = multiply(constant(times), DISTANCE)
                leaves.append((multiple, 2, times * self.distance))
                moduli += [multiple] if times == self.base else []
        if self.with_size:
            leaves.append((SIZE, 1, self.size))
            moduli.append(SIZE)
        if self.wide:
            leaves.append((floor_divide(SIZE, constant(self.base)), 2, self.size // self.base))
        numbers = {1, 2} | ({self.base**self.skeleton.least * each for each in (1, self.base)})
        for number in sorted(numbers):
            leaves.append((constant(number), 1 + (number > 2), np.full(len(self.element), number)))
        moduli += [constant(number) for number in sorted(numbers) if number > 1]
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
