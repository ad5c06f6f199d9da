"""Clauses over guards as PySMT formulas, for every engine that takes no clauses: each guard is a Boolean symbol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pysmt.environment import get_env
from pysmt.fnode import FNode
from pysmt.operators import OR
from typing_extensions import assert_never

from symbolic.solve.answer import Clauses, Excluded, Holds, Model, Possible, Sat, Unknown, Unsat, Verdict
from symbolic.solve.engines import SolverName
from symbolic.solve.solver import Solver, unchecked_formulas
from symbolic.values.guard import FALSE, TRUE, Guard


class GuardFormulas:
    """Any solver behind PySMT."""

    def __init__(self, name: SolverName) -> None:
        self._solver = Solver(name, boolean=True)
        self._symbols: list[Any] = [None]
        self._negations: list[Any] = [None]

    def add(self, clauses: Clauses, variables: int) -> None:
        manager = get_env().formula_manager
        with unchecked_formulas():
            fresh = [manager.Symbol(f"g{n}") for n in range(len(self._symbols), variables + 1)]
            self._symbols += fresh
            self._negations += [manager.Not(symbol) for symbol in fresh]
            literals = ([self._formula(g) for g in clause] for clause in clauses)
            self._solver.add(
                [manager.create_node(OR, tuple(some)) if len(some) > 1 else _short(some) for some in literals]
            )

    def check(self, assumptions: Sequence[Guard], timeout: float | None) -> Verdict:
        formulas = {self._formula(g): g for g in assumptions}
        answer = self._solver.check([*formulas], timeout)
        match answer:
            case Sat(model):
                return Possible(self._reader(model))
            case Unsat(core):
                return Excluded(frozenset(formulas[f] for f in core))
            case Unknown():
                return answer
            case _:
                assert_never(answer)

    def _formula(self, guard: Guard) -> FNode:
        return self._symbols[guard] if guard > 0 else self._negations[-guard]

    def _reader(self, model: Model) -> Holds:
        def holds(guard: Guard) -> bool:
            if guard in (TRUE, FALSE):
                return guard == TRUE
            return model.true(self._symbols[abs(guard)]) == (guard > 0)

        return holds

    def close(self) -> None:
        self._solver.close()


def _short(literals: list[FNode]) -> FNode:
    """Return a clause of one literal or none."""
    return literals[0] if literals else get_env().formula_manager.FALSE()
