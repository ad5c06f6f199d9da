"""Many fillings in one run: the machine runs a copy of the grid for each of them.

As long as its lanes are few, a run costs little more for a hundred fillings than for one. So `--all` checks its
fillings in hundreds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from swizzle.language.specs.specification import Meaning
from swizzle.language.specs.verify import run_canonical
from swizzle.solving.problem.problem import Problem
from symbolic.algebra.terms import UNWRITTEN
from symbolic.ir.program import DType, Program
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.machine import HoleFunction
from symbolic.machine.run import Run
from symbolic.values.vector import Lanes, Vector
from templates.chooser import Choice
from templates.holes import kind_of
from templates.template import Template

Filling = TypeVar("Filling")
Values: TypeAlias = Sequence[npt.NDArray[Any]]  # of each hole, at its points
AT_ONCE = 1 << 15  # threads of one run


def costs(
    program: Program,
    meaning: Meaning,
    fillings: Sequence[Filling],
    side_by_side: Callable[[Sequence[Filling]], HoleFunction],
    of_copies: Callable[[Run, int], Sequence[int]],
) -> list[int | None]:
    """Return what each filling costs, None for one that is not right for all inputs.

    `side_by_side` answers the holes of some fillings, for copies of the grid in their order. `of_copies` says what each
    of the copies costs. A run names only the first threads that break a rule, so if there are some, those fillings that
    are neither named nor wrong run again.
    """
    copies, threads = len(fillings), LaunchShape.of(program).count

    def again(*parts: Sequence[Filling]) -> list[int | None]:
        return [cost for part in parts for cost in costs(program, meaning, part, side_by_side, of_copies)]

    if not copies:
        return []
    if copies > max(1, AT_ONCE // threads):
        return again(fillings[: copies // 2], fillings[copies // 2 :])
    run = run_canonical(program, meaning.terms, side_by_side(fillings), copies=copies)
    right = np.ones(copies, np.bool_)
    for name, wanted in meaning.wanted.items():
        memory = run.memories[name]
        got = np.where(memory.written, memory.data, UNWRITTEN)
        right &= (got.reshape(copies, -1) == np.array(wanted)).all(axis=1)
    right[[violation.thread // threads for violation in run.violations]] = False
    left = np.flatnonzero(right).tolist()
    if run.violations:
        some, middle = [fillings[place] for place in left], len(left) // 2
        known = again(some) if len(some) <= copies // 2 else again(some[:middle], some[middle:])
    else:
        every = of_copies(run, copies)
        known = [every[place] for place in left]
    found: list[int | None] = [None] * copies
    for place, cost in zip(left, known, strict=True):
        found[place] = cost
    return found


def by_function(answer: Callable[[Filling, int, list[Lanes]], Any], fillings: Sequence[Filling]) -> HoleFunction:
    """Return what answers each copy's holes by calling that copy's function with the hole's number and arguments."""

    def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
        assert isinstance(mask, np.ndarray), "a filling leaves nothing open"
        threads = len(mask) // len(fillings)
        lanes = np.array([a for a in args if isinstance(a, np.ndarray)]).reshape(-1, len(fillings), threads)
        found = [answer(filling, number, list(lanes[:, copy])) for copy, filling in enumerate(fillings)]
        return np.concatenate([np.broadcast_to(np.asarray(given), threads) for given in found])

    return hole


class Many:
    """Runs many fillings of one problem; each filling is a table of what its holes give at their points."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.meaning = problem, Meaning(problem.terms, problem.wanted)
        self.points = [
            _Points(some.table if some else np.zeros((1, len(hole.arguments)), np.int64))
            for some, hole in zip(problem.points, problem.program.holes, strict=True)
        ]

    def values(self, function: Callable[[int, list[Lanes]], Any]) -> Values:
        """Return what each hole gives at its points; `function` says it for a hole's number and arguments."""
        return [
            np.broadcast_to(np.asarray(function(number, list(points.table.T))), len(points.table))
            for number, points in enumerate(self.points)
        ]

    def chosen(self, templates: Sequence[Template], choices: Sequence[Choice]) -> Values:
        """Return what the chosen functions give."""
        return self.values(lambda number, arguments: templates[number].apply(choices[number], arguments))

    def costs(self, fillings: Sequence[Values], of_copies: Callable[[Run, int], Sequence[int]]) -> list[int | None]:
        """Return what each filling costs, None for one that is not right for all inputs."""
        return costs(self.problem.program, self.meaning, fillings, self._by_table, of_copies)

    def typed(self, number: int, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return what a hole gives in the type that the machine has for it."""
        condition = kind_of(self.problem.program.holes[number]).gives is DType.BOOL
        return values.astype(np.bool_ if condition else np.int64)

    def _by_table(self, fillings: Sequence[Values]) -> HoleFunction:
        return self.by_tables([np.stack(some) for some in zip(*fillings, strict=True)], len(fillings))

    def by_tables(self, tables: Sequence[npt.NDArray[Any]], copies: int) -> HoleFunction:
        """Return what looks each copy's holes up in its lines of their tables."""

        def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
            assert isinstance(mask, np.ndarray), "a filling leaves nothing open"
            threads = len(mask) // copies
            every: list[Lanes] = [a for a in args if isinstance(a, np.ndarray)]
            if self.problem.nested:  # what another hole gives may be an argument: each copy has its own
                own: Lanes = tables[number][
                    np.repeat(np.arange(copies), threads), self.points[number].places(every, np.asarray(mask))
                ]
                return own
            lanes: list[Lanes] = [a[:threads] for a in every]
            on = np.asarray(mask.reshape(copies, threads).any(axis=0))
            found: Lanes = tables[number][:, self.points[number].places(lanes, on)].reshape(-1)
            return found

        return hole


class _Points:
    """The points of a hole, ascending, a line each; a hole that no filling asks has one, which is never looked up.

    They are found argument by argument: the beginnings of points, each with its place among those of its length.
    """

    def __init__(self, table: npt.NDArray[np.int64]) -> None:
        self.table = table
        self._beginnings: list[tuple[int, int, npt.NDArray[np.int64]]] = []  # lowest argument, extent, codes
        places = np.zeros(len(self.table), np.int64)
        for column in self.table.T:
            lowest, extent = int(column.min()), int(column.max() - column.min()) + 1
            codes, places = np.unique(places * extent + column - lowest, return_inverse=True)
            self._beginnings.append((lowest, extent, codes))

    def places(self, arguments: Sequence[Lanes], on: Lanes) -> npt.NDArray[np.intp]:
        """Return where among the points each thread's arguments are; of a thread that is off, any place."""
        places, known = np.zeros(len(on), np.intp), np.ones(len(on), np.bool_)
        for argument, (lowest, extent, codes) in zip(arguments, self._beginnings, strict=True):
            wanted = places * extent + argument - lowest
            places = np.searchsorted(codes, wanted).clip(max=len(codes) - 1)
            known &= (codes[places] == wanted) & (argument >= lowest) & (argument < lowest + extent)
        assert known[on].all(), "a hole is asked at a point that no filling asks"
        return places
