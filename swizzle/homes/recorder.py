"""The run of a kernel with variables in place of what its exchanges give."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from swizzle.specs.specification import symbolic_inputs
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.program import Expr, Load, Program, Stmt, Store
from symbolic.machine.machine import Machine
from symbolic.values.vector import Vector


class Recorder(Machine):
    """The machine, with variables for what exchanges give; it keeps what they are given."""

    def __init__(self, program: Program, terms: Terms, arrays: Sequence[str]) -> None:
        super().__init__(program, Canonical(terms), symbolic_inputs(program, terms))
        self.terms = terms
        self.given: dict[str, list[list[Term]]] = {array: [] for array in arrays}
        self.asked: dict[str, int] = dict.fromkeys(arrays, 0)
        self.variables: dict[Term, tuple[str, int, int]] = {}
        """Of each variable the array, the number of the read, and the thread."""
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
        if not isinstance(node, Load) or node.array not in self.given:
            return super().value(node, mask)
        number, threads = self.asked[node.array], self.shape.count
        self.asked[node.array] += 1
        self._order[node.array].append(False)
        made = [self.terms.atom(node.array, number * threads + t) for t in range(threads)]
        self.variables |= {term: (node.array, number, t) for t, term in enumerate(made)}
        return np.array(made, np.int64)

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
            found = self._threads[term] = frozenset(self.variables[each][2] for each in self.variables_of(term))
        return found

    def variables_of(self, term: Term) -> frozenset[Term]:
        """Return the variables that a term has in it."""
        found = self._variables.get(term)
        if found is None:
            op, args = self.terms.nodes[term]
            found = frozenset({term} if term in self.variables else ())
            if not found and op not in ("atom", "const", "unwritten"):
                found = found.union(*(self.variables_of(arg) for arg in args if isinstance(arg, int)))
            self._variables[term] = found
        return found
