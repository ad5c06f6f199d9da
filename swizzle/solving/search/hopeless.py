"""An evident 'no': outputs that are wrong whatever values the holes have, so that no space holds an answer.

Each hole is a free table here: at each point any value in its range. A few outputs are looked at, each by itself, and
the solver gives up after some conflicts: what takes longer is not evident. Where outputs are asked item by item, it is
counted how many items they hold at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from swizzle.solving.problem.open_holes import FreeTables
from swizzle.solving.problem.problem import Problem
from symbolic.limits import look
from symbolic.solve.engines import SatName
from symbolic.solve.interrupt import gc_paused
from symbolic.values.guard import Guards
from symbolic.values.vector import Encoding

OUTPUTS: Final = 4
"""Of each array, as many outputs are looked at."""
CONFLICTS: Final = 1000
LARGEST: Final = 15_000
"""Clauses of the outputs looked at so far, after which no other one is."""
LARGEST_MOVED: Final = 5_000
"""The same of outputs that are elements of inputs: one such output is much like another."""


class Hopeless(Struct, frozen=True):
    """An output, by its number, that no values of the holes make right, and how much was looked at to see it."""

    output: int
    looked_at: int
    clauses: int


def hopeless(problem: Problem, solver: SatName) -> Hopeless | None:
    """Return an output that is wrong whatever the holes are; None where none was found, which says nothing."""
    from symbolic.solve.sat import SatSolver

    if problem.by_items:
        short = next((i for i, output in enumerate(problem.outputs) if problem.too_few(output)), None)
        return None if short is None else Hopeless(short, len(problem.outputs), 0)
    clauses = 0
    for looked_at, number in enumerate(_some_outputs(problem), 1):
        guards = Guards()
        encoding = Encoding(guards, problem.terms, FreeTables(guards, problem.program.holes).at)
        with gc_paused():
            problem.require(encoding, problem.outputs[number])
        clauses += guards.clauses
        sat = SatSolver(solver)
        try:
            sat.add(guards.take())
            answer = sat.attempt([], CONFLICTS)
        finally:
            sat.close()
        if answer is False and not encoding.narrowed:
            return Hopeless(number, looked_at, clauses)
        moved = problem.terms.nodes[problem.outputs[number].term][0] == "atom"
        if clauses > (LARGEST_MOVED if moved else LARGEST):
            return None
        look()
    return None


def _some_outputs(problem: Problem) -> Iterator[int]:
    """Yield a few outputs of each array, which lie far from each other."""
    arrays: dict[str, list[int]] = {}
    for number, output in enumerate(problem.outputs):
        arrays.setdefault(output.array, []).append(number)
    for own in arrays.values():
        yield from dict.fromkeys(own[place * (len(own) - 1) // (OUTPUTS - 1)] for place in range(OUTPUTS))
