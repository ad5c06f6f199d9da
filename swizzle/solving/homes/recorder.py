"""The run of a kernel with variables in place of what its exchanges give.

What a parameter is read for at a place that an open hole says is a variable, too, which any of its elements may be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from swizzle.language.specs.specification import symbolic_inputs
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.program import Expr, HoleCall, Load, Program, Stmt, Store
from symbolic.ir.walk import subexpressions
from symbolic.machine.machine import Machine
from symbolic.values.vector import Vector


class ChosenRead(Struct, frozen=True):
    """What a hole reads at some arguments: any of `elements`, which have numbers.

    The numbers are what the hole says, and less than `size`; 0 where it says a part of an index only.
    """

    hole: int
    arguments: tuple[int, ...]
    size: int
    elements: Mapping[Term, int]


class Recorder(Machine):
    """The machine, with variables for what exchanges give; it keeps what they are given."""

    def __init__(self, program: Program, terms: Terms, arrays: Sequence[str]) -> None:
        self._inputs = symbolic_inputs(program, terms)
        super().__init__(program, Canonical(terms), self._inputs)
        self.terms = terms
        self.given: dict[str, list[list[Term]]] = {array: [] for array in arrays}
        self.asked: dict[str, int] = dict.fromkeys(arrays, 0)
        self.variables: dict[Term, tuple[str, int, int]] = {}
        """Of each variable the array, the number of the read, and the thread."""
        self.chosen: dict[Term, ChosenRead] = {}
        self._readings: dict[tuple[Any, ...], Term] = {}
        self._variables: dict[Term, frozenset[Term]] = {}
        self._threads: dict[Term, frozenset[int]] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        self._order: dict[str, list[bool]] = {array: [] for array in arrays}

    def execute(self, statement: Stmt, mask: Vector) -> None:
        if not isinstance(statement, Store) or statement.array not in self.given:
            super().execute(statement, mask)
            return
        value = self.data(statement.value, mask)
        assert isinstance(value, np.ndarray) and isinstance(mask, np.ndarray), "exchanges stand beside no open hole"
        self.given[statement.array].append(np.where(mask, value, UNWRITTEN).tolist())
        self._order[statement.array].append(True)

    def value(self, node: Expr, mask: Vector) -> Any:
        if not isinstance(node, Load):
            return super().value(node, mask)
        if node.array not in self.given:
            return self._read_by_hole(node, mask) if _hole_calls(node.indices) else super().value(node, mask)
        number, threads = self.asked[node.array], self.shape.count
        self.asked[node.array] += 1
        self._order[node.array].append(False)
        made = [self.terms.atom(node.array, number * threads + t) for t in range(threads)]
        self.variables |= {term: (node.array, number, t) for t, term in enumerate(made)}
        return np.array(made, np.int64)

    def _read_by_hole(self, node: Load, mask: Vector) -> Any:
        """Return variables for what is read: one for all reads of a hole at the same arguments."""
        threads, elements, calls = self.shape.count, self._inputs[node.array], _hole_calls(node.indices)
        parts = [index.args if isinstance(index, HoleCall) else (index,) for index in node.indices]
        size = self.program.holes[calls[0].hole].size if len(parts) == 1 and calls[0] == node.indices[0] else 0
        if _hole_calls([each for part in parts for each in part]):  # it says a part of an index only
            known: list[Any] = [np.arange(threads) + threads * len(self._readings)]
        else:
            known = [np.broadcast_to(np.asarray(self.value(each, mask)), (threads,)) for part in parts for each in part]
        where = {int(term): n for n, term in enumerate(elements[: size or None])}
        made = []
        for arguments in np.stack(known, axis=1).tolist():
            key = node.array, tuple(call.hole for call in calls), tuple(arguments)
            if key not in self._readings:
                self._readings[key] = self.terms.atom(f"?{node.array}", len(self._readings))
                self.chosen[self._readings[key]] = ChosenRead(calls[0].hole, tuple(arguments), size, where)
            made.append(self._readings[key])
        return np.array(made, np.int64)

    @property
    def gives_chosen(self) -> bool:
        """Whether an exchange is given something that a hole reads."""
        given = {term for lists in self.given.values() for some in lists for term in some}
        return any(not self.chosen.keys().isdisjoint(self.variables_of(term)) for term in given if term != UNWRITTEN)

    def sizes(self, array: str) -> tuple[int, int]:
        """Return how many elements an exchange takes, and how many it gives, each time."""
        if array not in self._sizes:
            order = [*self._order[array], False]
            takes = order.index(False)
            self._sizes[array] = takes, [*order[takes:-1], True].index(True)
        return self._sizes[array]

    @cached_property
    def chained(self) -> bool:
        """Whether an exchange is given what depends on what one gave."""
        given = {term for lists in self.given.values() for some in lists for term in some}
        return any(self.is_open(term) for term in given if term != UNWRITTEN)

    def time_of(self, variable: Term) -> tuple[str, int]:
        """Return which exchange gives a variable, and at which time."""
        array, number, _ = self.variables[variable]
        return array, number // self.sizes(array)[1]

    def is_open(self, term: Term) -> bool:
        """Say whether a term has such a variable in it."""
        return bool(self.variables_of(term))

    def threads_of(self, term: Term) -> frozenset[int]:
        """Return the threads whose variables a term has in it."""
        found = self._threads.get(term)
        if found is None:
            found = self._threads[term] = frozenset(
                self.variables[each][2] for each in self.variables_of(term) if each in self.variables
            )
        return found

    def variables_of(self, term: Term) -> frozenset[Term]:
        """Return the variables that a term has in it."""
        found = self._variables.get(term)
        if found is None:
            op, args = self.terms.nodes[term]
            found = frozenset({term} if term in self.variables or term in self.chosen else ())
            if not found and op not in ("atom", "const", "unwritten"):
                found = found.union(*(self.variables_of(arg) for arg in args if isinstance(arg, int)))
            self._variables[term] = found
        return found


def _hole_calls(indices: Sequence[Expr]) -> list[HoleCall]:
    return [part for index in indices for part in subexpressions(index) if isinstance(part, HoleCall)]
