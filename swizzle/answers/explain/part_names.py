"""Names of a sketch's parts in an explanation: threads, cells, terms, points of holes, statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from swizzle.solving.problem.problem import Output, Problem
from symbolic.algebra.terms import Term, Terms
from symbolic.errors import Place
from symbolic.ir.index import cell_name, with_indices
from symbolic.ir.program import Accumulate, Expr, For, Stmt, Store
from symbolic.ir.sites import Site, Sites
from symbolic.ir.walk import within_loops
from templates.holes import Point, kind_of

MOST_SHOWN: Final = 6
"""Parts of an enumeration that are spelled out."""
LONGEST_TERM: Final = 100
"""Characters of a term."""


def listing(parts: Sequence[str], limit: int = MOST_SHOWN) -> str:
    """Return 'a', 'a and b', 'a, b and c'; of too many parts only the first ones.

    >>> listing(["a", "b", "c"]), listing(list("abcdefgh"), limit=3)
    ('a, b and c', 'a, b, c and 5 more')
    """
    shown = [*parts[:limit], f"{len(parts) - limit} more"] if len(parts) > limit else list(parts)
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return numbers as spans from a first to a last.

    >>> spans([4, 0, 1, 2, 5])
    [(0, 2), (4, 5)]
    """
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


class PartNames:
    """The names of one problem's parts."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.program, self.terms = problem, problem.program, problem.terms
        self._shapes = {p.name: p.shape for p in problem.program.parameters}

    @cached_property
    def nodes(self) -> dict[Site, Stmt | Expr]:
        """Every statement and expression of the program by its site; executions are named by sites."""
        return Sites.in_program(self.program).nodes

    @cached_property
    def loops(self) -> dict[Site, tuple[For, ...]]:
        """The loops around each accumulate."""
        sites = Sites.in_program(self.program)
        return {sites.of(s): around for s, around in within_loops(self.program.body) if isinstance(s, Accumulate)}

    def thread(self, t: int) -> str:
        """Return 'lane 3', with its warp and block if there are several."""
        shape = self.problem.run.shape
        lane, inner = int(shape.lane[t]), t % shape.block_threads
        text = f"lane {lane}"
        if shape.block_threads > shape.warp_size:
            text += f" of warp {inner // shape.warp_size}"
        if shape.blocks > 1:
            block = tuple(t // shape.block_threads // int(np.prod(shape.grid[:a])) % shape.grid[a] for a in range(3))
            text += f" of block {block[0] if shape.grid[1] == shape.grid[2] == 1 else block}"
        return text

    def cell(self, array: str, address: int) -> str:
        return cell_name(array, self._shapes[array], address)

    def term(self, term: Term) -> str:
        """Return a term with the sketch's own indices; a long term is shortened."""
        text = with_indices(self.terms.show(term), self._shapes)
        if len(text) <= LONGEST_TERM:
            return text
        cut = text.rfind(" ", 0, LONGEST_TERM - 4)
        return text[: cut if cut > 0 else LONGEST_TERM - 4] + " ..."

    def atoms(self, terms: Iterable[Term]) -> str:
        """Return what some input elements are, in spans: 'x[0] to x[31] and w[0]'."""
        by_array: dict[str, list[int]] = {}
        for term in terms:
            array, index = self.terms.nodes[term][1]
            by_array.setdefault(array, []).append(index)
        parts: list[str] = []
        for array, indices in by_array.items():
            for first, last in spans(indices):
                ends = self.cell(array, first), self.cell(array, last)
                parts += [ends[0]] if first == last else [f"{ends[0]} to {ends[1]}"] if last > first + 1 else ends
        return listing(parts) if parts else "no input element"

    def point(self, hole: int, point: Point, only: Sequence[int] | None = None) -> str:
        """Return 'lane = 3, k = 0' for a point of a hole; `only` some of its arguments."""
        names = self.program.holes[hole].arguments
        chosen = range(len(point)) if only is None else only
        named = [(names[i], point[i]) for i in chosen if not names[i].isdigit()]
        return ", ".join(f"{name} = {value}" for name, value in named)

    def points(self, hole: int, points: Sequence[Point], varying: Sequence[int]) -> str:
        """Return 'k = 0 to 7' for points that differ in one argument, or list what differs."""
        if len(varying) != 1:
            return listing([f"({self.point(hole, p, varying)})" for p in points])
        (place,) = varying
        runs = [
            f"{a} to {b}" if b > a + 1 else str(a) if a == b else f"{a} and {b}"
            for a, b in spans(p[place] for p in points)
        ]
        return f"{self.program.holes[hole].arguments[place]} = {listing(runs)}"

    def hole(self, number: int) -> str:
        """Return a hole as the sketch spells it: '?sw_xform(lane, 32, k)'."""
        hole = self.program.holes[number]
        return kind_of(hole).call(hole)

    def arguments(self, number: int) -> list[str]:
        """Return the arguments of which a hole is a function."""
        return [name for name in self.program.holes[number].arguments if not name.isdigit()]

    def iteration(self, statement: Accumulate, loops: tuple[int, ...]) -> str:
        """Return 'line 36 with k = 2'."""
        around = self.loops[Sites.in_program(self.program).of(statement)]
        values = ", ".join(f"{loop.variable} = {i}" for loop, i in zip(around, loops, strict=False))
        return f"line {statement.place.line}" + (f" with {values}" if values else "")

    def store_of(self, output: Output) -> Place | None:
        """Return where an output is stored last, if that is certain."""
        found = None
        for key, (mask, address, _) in self.problem.run.accesses.items():
            node = self.nodes[key[0]]
            if not isinstance(node, Store) or node.array != output.array:
                continue
            known = isinstance(mask, np.ndarray) and isinstance(address, np.ndarray)
            if not known or np.any(np.asarray(mask) & (np.asarray(address) == output.address)):
                found = node.place
        return found


def atoms_of(terms: Terms, *some: Term) -> frozenset[Term]:
    """Return the input elements in some terms; each part of them is looked at once."""
    seen, stack = set(some), list(some)
    while stack:
        op, args = terms.nodes[stack.pop()]
        if op not in ("atom", "const", "unwritten"):
            stack += (new := [arg for arg in dict.fromkeys(args) if arg not in seen])
            seen.update(new)
    return frozenset(term for term in seen if terms.nodes[term][0] == "atom")
