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

from msgspec.structs import replace
from pysmt.fnode import FNode
from pysmt.typing import BOOL
from typing_extensions import assert_never

from symbolic.core.asking import Clock
from symbolic.core.holes import boolean_hole, choose, hole
from symbolic.core.obligations import assert_, assume, known, obligations
from symbolic.core.outcome import Outcome, outcome_of
from symbolic.core.synthesis import CONTRADICTION, decide, synthesize
from symbolic.core.values import BitVector, BooleanLike, Integer, all_of
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Sat, Unknown, Unsat
from symbolic.solve.engines import SolverName
from symbolic.solve.floor_division import manager
from symbolic.solve.solver import Solver

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


def optimize(
    *conditions: BooleanLike,
    minimize: Integer | BitVector | None = None,
    maximize: Integer | BitVector | None = None,
    solver: SolverName = "z3",
    timeout: float | None = None,
) -> Outcome:
    """Find the values with the least (or greatest) objective under assumptions, assertions and conditions.

    A sat outcome is `optimal` when it was proved that nothing better exists; when the `timeout` (seconds) ends the
    search it holds the best so far. An objective without a bound is never proved: give a timeout.
    """
    if (minimize is None) == (maximize is None):
        raise SwizzleError("an objective is missing, or there are two", expected="minimize=... or maximize=...")
    objective = minimize if minimize is not None else maximize
    assert objective is not None
    sign = 1 if minimize is not None else -1
    now, clock = known(), Clock(timeout, "optimize")
    wanted = manager().And([*now.premises(), _formula([*now.assertions, *conditions])])
    with Solver(solver) as engine:
        engine.add([wanted])
        best = outcome_of(clock.checked(engine, [], wanted), tuple(now.made), wanted)
        if best.status != "sat":
            return best
        # In terms of sign * objective: nothing below `floor` exists, and steps double until one is too far.
        floor: int | None = None
        if isinstance(objective, BitVector):
            floor = min(sign * bound for bound in objective.bounds)
        step = 1
        while (reached := sign * best[objective]) != floor:
            target = reached - step if floor is None else max(reached - step, (reached + floor) // 2)
            reach = manager().FreshSymbol(BOOL, "reach!%d")
            bound = objective <= target if sign > 0 else objective >= -target
            engine.add([manager().Implies(reach, bound.formula)])
            answer = clock.checked(engine, [reach], wanted)
            match answer:
                case Sat():
                    best, step = outcome_of(answer, best.asked, wanted), step * 2
                case Unsat():
                    floor, step = target + 1, max(1, step // 2)
                case Unknown(reason):
                    return replace(best, reason=f"not proved to be the best: {reason}")
                case _:
                    assert_never(answer)
        return replace(best, optimal=True)


def _formula(conditions: Sequence[BooleanLike]) -> FNode:
    return all_of(*conditions).formula
