"""Many fillings in one run: the machine runs a copy of the grid for each of them.

A run costs little more for a hundred fillings than for one, as long as its lanes are few; so `--all` looks at what it
found by the hundred. A filling is here what its holes give at their points, whoever says so: a template or a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from swizzle.search.problem import Problem
from swizzle.search.verify import run_canonical
from symbolic.launch_shape import LaunchShape
from symbolic.terms import UNWRITTEN
from symbolic.vector import Lanes, Vector
from templates.chooser import Choice
from templates.holes import Point, Template

Values: TypeAlias = Sequence[npt.NDArray[Any]]  # of each hole, at its points
AT_ONCE = 1 << 15  # threads of one run


class Many:
    """Runs many fillings of one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.points = [
            _Points(some, len(hole.arguments)) for some, hole in zip(problem.points, problem.program.holes, strict=True)
        ]

    def values(self, function: Callable[[int, Sequence[Lanes]], Any]) -> Values:
        """Return what each hole gives at its points, as `function` says for a hole's number and its arguments."""
        return [
            np.broadcast_to(np.asarray(function(number, list(points.table.T))), len(points.table))
            for number, points in enumerate(self.points)
        ]

    def chosen(self, templates: Sequence[Template], choices: Sequence[Choice]) -> Values:
        """Return what chosen functions give."""
        return self.values(lambda number, arguments: templates[number].apply(choices[number], arguments))

    def costs(self, fillings: Sequence[Values]) -> list[int | None]:
        """Return how many accumulate statements each filling keeps, None if it is not right for all inputs."""
        step = max(1, AT_ONCE // LaunchShape.of(self.problem.program).count)
        return [c for first in range(0, len(fillings), step) for c in self._costs(fillings[first : first + step])]

    def _costs(self, fillings: Sequence[Values]) -> list[int | None]:
        """Run some fillings side by side.

        A run names only the first thread that breaks a rule; where one does, each half is run on its own.
        """
        problem, copies = self.problem, len(fillings)
        tables = [np.stack(some) for some in zip(*fillings, strict=True)]

        def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
            assert isinstance(mask, np.ndarray), "a filling leaves nothing open"
            threads = len(mask) // copies
            lanes: list[Lanes] = [a[:threads] for a in args if isinstance(a, np.ndarray)]
            on = mask.reshape(copies, threads).any(axis=0)
            places = self.points[number].places(lanes, np.asarray(on))
            found: Lanes = tables[number][:, places].reshape(-1)
            return found

        run = run_canonical(problem.program, problem.terms, hole, copies=copies)
        if run.violations:
            half = copies // 2
            return [*self._costs(fillings[:half]), *self._costs(fillings[half:])] if half else [None]
        right, cost = np.ones(copies, np.bool_), np.zeros(copies, np.int64)
        for name, wanted in problem.wanted.items():
            memory = run.memories[name]
            got = np.where(memory.written, memory.data, UNWRITTEN)
            right &= (got.reshape(copies, -1) == np.array(wanted)).all(axis=1)
        live: dict[int, Lanes] = {}
        for entry in run.accumulated:
            assert isinstance(entry.mask, np.ndarray), "a filling leaves no predicate open"
            on = np.asarray(entry.mask.reshape(copies, -1).any(axis=1))
            live[id(entry.statement)] = on | live.get(id(entry.statement), on)
        for on in live.values():
            cost += on
        return [c if r else None for c, r in zip(cost.tolist(), right.tolist(), strict=True)]


class _Points:
    """The points of a hole, ascending, a line each; a hole that no filling asks has one, which is never looked up.

    They are found argument by argument: the beginnings of points, each with its place among those of its length.
    """

    def __init__(self, points: Sequence[Point], arity: int) -> None:
        self.table = np.array(points or [(0,) * arity], np.int64)
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
