"""OR-Tools' CP-SAT on a ground space: a second opinion on what is left, by a solver that shares nothing with ours.

The engine of `propagation.py` is the first one, as a search needs partial assignments. `ortools` is optional.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from symbolic.choices.conditions import Value
from symbolic.choices.grounding import CounterTerm, GroundClause, GroundCounter, GroundSpace, Test

LARGEST: Final = 1 << 40
"""Sums and products are kept below that."""
MOST_WRITTEN: Final = 200_000
"""Tests about more tuples of values than that are not written out."""


def has_cp_sat() -> bool:
    """Say whether OR-Tools is installed."""
    from importlib.util import find_spec

    return find_spec("ortools") is not None


def cp_sat_assignments(space: GroundSpace) -> set[frozenset[tuple[int, Value]]]:
    """Return all assignments: of each, the values of the choices that are there, by the variables' numbers."""
    from ortools.sat.python import cp_model

    model = _Model(space, None)
    solver = cp_model.CpSolver()
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    found = set[frozenset[tuple[int, Value]]]()

    class Listener(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            at = [self.value(variable) for variable in model.variables]
            found.add(frozenset(_there(space, at)))

    status = solver.solve(model.model, Listener())
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE), solver.status_name(status)
    return found


def cp_sat_is_empty(space: GroundSpace, rules: Collection[int] | None = None) -> bool:
    """Say whether some rules leave nothing; those that say what is there always count."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(_Model(space, rules).model)
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.INFEASIBLE), solver.status_name(status)
    return bool(status == cp_model.INFEASIBLE)


def _there(space: GroundSpace, at: Sequence[int]) -> Iterator[tuple[int, Value]]:
    for variable in range(space.choices):
        if all(at[need] == 1 for need in space.needs[variable]):
            yield variable, space.values[variable][at[variable]]


class _Model:
    """The constraints of a space; a variable of it is the index of its value."""

    def __init__(self, space: GroundSpace, rules: Collection[int] | None) -> None:
        from ortools.sat.python import cp_model

        self.space = space
        self.model: Any = cp_model.CpModel()
        self.variables = [
            self.model.new_int_var(0, len(values) - 1, space.label(n)) for n, values in enumerate(space.values)
        ]
        counting = range(len(space.rules)) if rules is None else space.structural | frozenset(rules)
        for clause in space.clauses:
            if clause.rule in counting:
                self.clause(clause)
        for counter in space.counters:
            if counter.rule in counting:
                self.counter(counter)

    def clause(self, clause: GroundClause) -> None:
        if len(clause.tests) == 1:
            (test,) = clause.tests
            allowed = [indices for indices, holds in self.tuples(test) if holds]
            self.model.add_allowed_assignments(self.of(test.scope), allowed)
        else:
            self.model.add_bool_or([self.truth(test) for test in clause.tests])

    def of(self, scope: Sequence[int]) -> list[Any]:
        return [self.variables[variable] for variable in scope]

    def truth(self, test: Test) -> Any:
        """Return a variable that is true where a test passes, and only there."""
        truth = self.model.new_bool_var("")
        table = [(*indices, int(holds)) for indices, holds in self.tuples(test)]
        self.model.add_allowed_assignments([*self.of(test.scope), truth], table)
        return truth

    def tuples(self, test: Test) -> Iterator[tuple[tuple[int, ...], bool]]:
        """Yield the indices of each tuple of values of a test, and whether it passes."""
        values = [self.space.values[variable] for variable in test.scope]
        size = math.prod(map(len, values))
        if size > MOST_WRITTEN:
            raise ValueError(f"a test of {size:,} tuples is not written out")
        for number, indices in enumerate(itertools.product(*(range(len(some)) for some in values))):
            if test.allowed is not None:
                yield indices, bool(test.allowed >> number & 1)
            else:
                yield indices, bool(test.function(*(some[at] for some, at in zip(values, indices, strict=True))))

    def counter(self, counter: GroundCounter) -> None:
        numbers = [self.term(term, 1 if counter.product else 0) for term in counter.terms]
        least = 0 if counter.least == -math.inf else math.ceil(counter.least)
        most = LARGEST if counter.most == math.inf else math.floor(counter.most)
        if not counter.product:
            self.model.add_linear_constraint(sum(numbers), max(least, 0), most)
            return
        product: Any = self.model.new_constant(1)
        for number in numbers:
            larger = self.model.new_int_var(0, LARGEST, "")
            self.model.add_multiplication_equality(larger, [product, number])
            product = larger
        self.model.add_linear_constraint(product, max(least, 0), most)

    def term(self, term: CounterTerm, neutral: int) -> Any:
        """Return a variable that is what a term counts, neutral where it does not."""
        numbers = [term.constant] if term.variable is None else [int(v) for v in self.space.values[term.variable]]
        scope = list(dict.fromkeys([*([] if term.variable is None else [term.variable]), *(v for v, _ in term.when)]))
        made = self.model.new_int_var(0, max([neutral, *numbers]), "")
        table = []
        for indices in itertools.product(*(range(len(self.space.values[variable])) for variable in scope)):
            at = dict(zip(scope, indices, strict=True))
            counts = all(mask >> at[variable] & 1 for variable, mask in term.when)
            value = term.constant if term.variable is None else numbers[at[term.variable]]
            table.append((*indices, value if counts else neutral))
        self.model.add_allowed_assignments([*self.of(scope), made], table)
        return made
