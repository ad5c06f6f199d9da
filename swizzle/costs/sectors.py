"""Sectors: how much of global memory moves, in units of 32 bytes, over every access of every warp of the grid.

They are counted on the kernel as it is printed, with vectors as wide as they are there. No kernel moves less than each
sector once that holds an output, or an input that an output depends on.
"""

from __future__ import annotations

from typing import TypeAlias

from swizzle.costs.cost import Cost, Filled
from swizzle.problem.problem import Problem
from symbolic.algebra.terms import Term, Terms
from symbolic.machine.accesses import SECTOR, bytes_of

Cell: TypeAlias = tuple[str, int]


class Sectors(Cost):
    """How many sectors all loads and stores touch."""

    name = "sectors"

    def of_run(self, filled: Filled) -> int:
        return sum(access.sectors for access in filled.accesses if access.memory == "global")

    def floor(self, problem: Problem) -> int:
        sizes = {parameter.name: bytes_of(parameter.dtype) for parameter in problem.program.parameters}
        stored, needed = set[Cell](), set[Term]()
        for array, wanted in problem.wanted.items():
            for index, term in enumerate(wanted):
                if problem.terms.nodes[term] not in (("atom", (array, index)), ("unwritten", ())):  # else left as it is
                    stored.add((array, index))
                    needed.add(term)
        both = (stored, _elements(problem.terms, needed))
        return sum(len({(array, index * sizes[array] // SECTOR) for array, index in cells}) for cells in both)


def _elements(terms: Terms, needed: set[Term]) -> set[Cell]:
    """Return the input elements that terms are made of."""
    found, seen, waiting = set[Cell](), set(needed), list(needed)
    while waiting:
        op, arguments = terms.nodes[waiting.pop()]
        if op == "atom":
            found.add(arguments)
        elif op != "const":
            fresh = set(arguments) - seen
            seen |= fresh
            waiting += fresh
    return found
