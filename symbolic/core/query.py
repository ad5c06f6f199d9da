"""The four queries over symbolic values: solve, verify, synthesize, optimize, as in Rosette.

    with obligations():
        a, b, x = hole(), hole(), integer("x")
        assert_(x * x - 2 * x - 3 == (x - a) * (x - b))
        outcome = synthesize(inputs=[x])
        outcome[a], outcome[b]                            # 3, -1 in some order

Assumptions and assertions are collected in the innermost `with obligations()`; one nested in another starts from
what the outer one holds (`symbolic.core.obligations`). Every query may also be given conditions directly; they come
after all that was collected. A query answers with an `Outcome`, which is sat, unsat or unknown; none of the three is
an exception. Every sat outcome has been evaluated in Python integers on top of the solver's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pysmt.typing import BOOL

from symbolic.core.obligations import assert_, assume, known, obligations
from symbolic.core.optimization import optimize
from symbolic.core.outcome import Clock, Outcome, outcome_of
from symbolic.core.synthesis import CONTRADICTION, decide, synthesize
from symbolic.core.values import BooleanLike, all_of, boolean_hole, choose, hole
from symbolic.solve.answer import Sat, Unsat
from symbolic.solve.engines import SolverName
from symbolic.solve.floor_division import manager
from symbolic.solve.solver import Solver

if TYPE_CHECKING:
    from pysmt.fnode import FNode

__all__ = [
    "Outcome", "assert_", "assume", "boolean_hole", "choose", "hole", "obligations", "optimize", "solve",
    "synthesize", "verify",
]  # fmt: skip


def solve(*conditions: BooleanLike, solver: SolverName = "z3", timeout: float | None = None) -> Outcome:
    """Find values for all symbols under which assumptions, assertions and `conditions` hold; seconds."""
    now, clock = known(), Clock(timeout, "solve")
    wanted = _formula([*now.assertions, *conditions])
    answer = decide([*now.premises(), wanted], solver, clock)
    return outcome_of(answer, tuple(now.made), wanted)


def verify(*conditions: BooleanLike, solver: SolverName = "z3", timeout: float | None = None) -> Outcome:
    """Look for a counterexample: values that meet the assumptions and break an assertion or a condition; seconds.

    'sat' holds the counterexample, 'unsat' means that it was proved for all values that meet the assumptions, of which
    there are some: assumptions that contradict each other prove nothing, and the outcome is 'unknown'.
    """
    now, clock = known(), Clock(timeout, "verify")
    broken = manager().Not(_formula([*now.assertions, *conditions]))
    premises = now.premises()
    with Solver(solver) as engine:
        engine.add(premises)
        if premises:  # a second question is to come: the claim is dropped for it
            ask = manager().FreshSymbol(BOOL, "claim!%d")
            engine.add([manager().Implies(ask, broken)])
            answer = clock.checked(engine, [ask], *premises, broken)
            if isinstance(answer, Unsat) and not isinstance(clock.checked(engine, [], *premises), Sat):
                return Outcome("unknown", CONTRADICTION, asked=tuple(now.made))
        else:
            engine.add([broken])
            answer = clock.checked(engine, [], broken)
    return outcome_of(answer, tuple(now.made), broken)


def _formula(conditions: Sequence[BooleanLike]) -> FNode:
    return all_of(*conditions).formula
