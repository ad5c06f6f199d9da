"""Fillings run on numbers side by side, where the functions of all holes together are few.

What a kernel computes of random whole numbers is compared with the specification for thousands of fillings at once.
Those that agree are run on terms, as every answer is, so nothing here is believed. It finds what a solver's clauses are
too many for: values that go through several holes and functions one after the other, as in a sorting network.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from swizzle.language.specs.specification import inputs, numbers, outputs
from swizzle.solving.costs.cost import BoundedCost
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.many import AT_ONCE, Many, Values
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.trying import FUNCTIONS, VALUES, FunctionTable, every_function, light_functions
from symbolic.algebra.numbers import NUMPY_DTYPES, Lanes, Numbers, bounds_of
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType
from symbolic.ir.walk import own_expressions, statements, subexpressions
from symbolic.limits import look
from symbolic.machine.launch_shape import LaunchShape
from symbolic.machine.machine import Machine
from templates.holes import Space

# But for LARGEST and DIGITS, each is varied by an experiment: python bench/tuned.py screening.WORK 1048576 16777216
WORK: Final = 1 << 24
"""Threads of all fillings together."""
FEW: Final = 1 << 14
"""Fillings of a space that are run before those of a smaller space that has more."""
READ: Final = 64
"""Right fillings of which the one with the shortest formulas is taken."""
LARGEST: Final = 97
"""Of the random numbers."""
DIGITS: Final = 1e-4
"""Of the largest number wanted: what floats may differ by."""
CONFIRMED: Final = 64
"""Fillings that agree on numbers and are run on terms."""


def screened(
    problem: Problem, spec: Callable[..., Any], spaces: Iterable[Space], cost: BoundedCost,
    length: Callable[[Candidate], int],
) -> Candidate | None:  # fmt: skip
    """Return a right filling of some space, of the first ones that with the shortest formulas; spaces that have few
    fillings are looked at first."""
    engines = [Screening(problem, spec, space, cost) for space in spaces]
    for engine in sorted(engines, key=lambda engine: max(FEW, engine.size)):
        found = min(itertools.islice(engine.candidates(), READ), key=length, default=None)
        if found is not None:
            return found
    return None


class Screening:
    """The fillings of a space, or of its light functions, that are right."""

    def __init__(self, problem: Problem, spec: Callable[..., Any], space: Space, cost: BoundedCost) -> None:
        self.problem, self.spec, self.space, self.cost = problem, spec, space, cost
        self.templates = problem.templates(space)
        self._threads = LaunchShape.of(problem.posed).count

    @cached_property
    def _agreeing(self) -> Agreeing:
        return Agreeing(self.problem, self.spec)

    @cached_property
    def tables(self) -> list[FunctionTable]:
        """The functions of each hole: all, or the light ones of those that have most; none where they are too many."""
        found: list[FunctionTable] = []
        light = list[bool]()
        for template, points in zip(self.templates, self.problem.points, strict=True):
            light.append(template.size() > FUNCTIONS or template.size() * len(points) > VALUES)
            found.append((light_functions if light[-1] else every_function)(template, points))
        while math.prod(len(table.values) for table in found) * self._threads > WORK and not all(light):
            _, hole = max((len(table.values), hole) for hole, table in enumerate(found) if not light[hole])
            found[hole], light[hole] = light_functions(self.templates[hole], self.problem.points[hole]), True
        return found if math.prod(len(table.values) for table in found) * self._threads <= WORK else []

    @property
    def size(self) -> int:
        """How many fillings there are."""
        return math.prod(len(table.values) for table in self.tables)

    def candidates(self) -> Iterator[Candidate]:
        """Yield right fillings, the lightest first; none where there are too many functions."""
        for rows in self._agreeing.rows(self.tables) if self.tables else ():
            values = [self._agreeing.values(self.tables, row) for row in rows]
            costs = self._agreeing.many.costs(values, self.cost.of_copies)
            for row, each, cost in zip(rows, values, costs, strict=True):
                if cost is not None:
                    choices = tuple(table.choice(place) for table, place in zip(self.tables, row, strict=True))
                    yield Candidate(self.space, choices, cost, each)


class Agreeing:
    """Which fillings compute of random numbers what the specification does."""

    def __init__(self, problem: Problem, spec: Callable[..., Any]) -> None:
        self.problem, self.spec, self.many = problem, spec, Many(problem)
        self._threads = LaunchShape.of(problem.posed).count

    @cached_property
    def _given(self) -> list[tuple[dict[str, Lanes], dict[str, Lanes]]]:
        return [self._random(seed) for seed in range(2)]

    def rows(self, tables: Sequence[FunctionTable]) -> Iterator[list[list[int]]]:
        """Yield the lines of the holes' tables that agree together, `CONFIRMED` fillings or fewer at once.

        Where numbers, or a filling, are a mistake, such as a division by zero, none is looked at further; none at all
        where words travel as states.
        """
        whole = (own for stmt in statements(self.problem.posed.body) for own in own_expressions(stmt))
        if any(part.dtype is DType.STATE for own in whole for part in subexpressions(own)):
            return
        with suppress(SwizzleError):
            yield from self._rows(tables)

    def _rows(self, tables: Sequence[FunctionTable]) -> Iterator[list[list[int]]]:
        sizes, together = [len(table.values) for table in tables], max(1, AT_ONCE // self._threads)
        for start in range(0, math.prod(sizes), together):
            look()
            rows = np.stack(np.unravel_index(np.arange(start, min(start + together, math.prod(sizes))), sizes))
            for given, wanted in self._given:
                if rows.shape[1]:
                    rows = rows[:, self._agree(tables, rows, given, wanted)]
            for part in range(0, rows.shape[1], CONFIRMED):
                yield rows[:, part : part + CONFIRMED].T.tolist()

    def values(self, tables: Sequence[FunctionTable], row: Sequence[int]) -> Values:
        """Return what the holes give with these lines of their tables."""
        return [self.many.typed(hole, tables[hole].values[place]) for hole, place in enumerate(row)]

    def _agree(
        self, tables: Sequence[FunctionTable], rows: Lanes, given: dict[str, Lanes], wanted: dict[str, Lanes]
    ) -> npt.NDArray[np.bool_]:
        """Return which fillings, a column each, compute what is wanted of the numbers that are given."""
        copies = rows.shape[1]
        stacked = [self.many.typed(hole, table.values[rows[hole]]) for hole, table in enumerate(tables)]
        with np.errstate(all="ignore"):
            run = Machine(
                self.problem.posed, Numbers(), given, self.many.by_tables(stacked, copies), copies=copies
            ).run()
            right = np.ones(copies, np.bool_)
            for parameter in outputs(self.problem.posed):
                memory, want = run.memories[parameter.name], wanted[parameter.name].reshape(-1)
                got = memory.data.reshape(copies, -1)
                slack = DIGITS * max(1.0, float(np.nanmax(np.abs(want), initial=0))) if parameter.dtype.is_float else 0
                same = (got == want) | (np.abs(got - want) <= slack) | ((got != got) & (want != want))
                right &= (same & memory.written.reshape(copies, -1)).all(axis=1)
        right[[violation.thread // self._threads for violation in run.violations]] = False
        return right

    def _random(self, seed: int) -> tuple[dict[str, Lanes], dict[str, Lanes]]:
        rng, program = np.random.default_rng([seed, LARGEST]), self.problem.posed
        given = dict[str, Lanes]()
        for p in inputs(program):
            least, greatest = (1, LARGEST) if p.dtype.is_float else bounds_of(p)
            some = rng.integers(max(1, least) if greatest else 0, min(LARGEST, greatest), p.shape, endpoint=True)
            given[p.name] = np.asarray(some).astype(NUMPY_DTYPES[p.dtype])
        return {name: array.reshape(-1) for name, array in given.items()}, numbers(program, self.spec, given)
