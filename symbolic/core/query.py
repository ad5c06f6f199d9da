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

import random
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from pysmt.environment import get_env
from pysmt.fnode import FNode
from pysmt.typing import BOOL
from typing_extensions import assert_never

from symbolic.core.asking import Clock
from symbolic.core.holes import boolean_hole, choose, hole
from symbolic.core.obligations import assert_, assume, known, obligations
from symbolic.core.outcome import Outcome, outcome_of
from symbolic.core.values import BitVector, BooleanLike, Integer, Symbolic, all_of
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Answer, Model, Sat, Unknown, Unsat
from symbolic.solve.engines import SolverName
from symbolic.solve.floor_division import manager
from symbolic.solve.solver import Solver

__all__ = [
    "Outcome", "assert_", "assume", "boolean_hole", "choose", "hole", "obligations", "optimize", "solve",
    "synthesize", "verify",
]  # fmt: skip

EXAMPLES = 8
CONTRADICTION = "the assumptions contradict each other: no input meets them, so that nothing is proved"


def solve(*conditions: BooleanLike, solver: SolverName = "z3", timeout: float | None = None) -> Outcome:
    """Find values for all symbols under which assumptions, assertions and `conditions` hold; seconds."""
    now, clock = known(), Clock(timeout, "solve")
    wanted = _formula([*now.assertions, *conditions])
    answer = _decide([*now.premises(), wanted], solver, clock)
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


def synthesize(
    *,
    inputs: Sequence[Symbolic],
    guarantee: BooleanLike = True,
    minimize: Integer | BitVector | int | None = None,
    solver: SolverName = "z3",
    timeout: float | None = None,
) -> Outcome:
    """Find values for every symbol that is not an input, such that all inputs meet the assertions and `guarantee`.

    An assumption about inputs limits which inputs count, and at least one input must count; an assumption without
    inputs must hold of the answer. By counterexamples (CEGIS): ends for certain when the inputs are Booleans and
    bit-vectors; on integers it may need the `timeout` (seconds).

    With `minimize`, a number that is not negative and has no inputs in it, smaller values are tried first: what is
    found has the least, and the outcome is `optimal`.
    """
    now, clock = known(), Clock(timeout, "synthesize")
    forall = _input_symbols(inputs)
    if isinstance(minimize, int):  # one cost, whatever is chosen
        minimize = None
    if minimize is not None and _symbols(minimize.formula) & forall:
        raise SwizzleError("what is minimized depends on an input", expected="a cost of the holes", fix="cost(program)")
    goal = _formula([*now.assertions, guarantee])
    stated = list(zip(now.assumptions, now.premises(), strict=True))
    about_inputs = [premise for assumed, premise in stated if _symbols(assumed.formula) & forall]
    about_holes = [assumed.formula for assumed, _ in stated if not _symbols(assumed.formula) & forall]
    premise = manager().And(about_inputs)
    claim = manager().Implies(premise, goal)
    holes = _symbols(claim, *about_holes) - forall
    asked = tuple(now.made)
    candidates = _Candidates(solver, about_holes)
    if about_inputs:
        witness = {symbol: manager().FreshSymbol(symbol.symbol_type(), "witness!%d") for symbol in forall}
        candidates.formulas.append(premise.substitute(witness))
    candidates.formulas += [claim.substitute(example) for example in _examples(forall)]
    tried, cap = 0, 0
    while True:
        clock.doing = f"looking for an answer after {tried} that failed"
        capped = [] if minimize is None else [(minimize <= cap).formula]
        answer = candidates.ask(clock, capped)
        if isinstance(answer, Unsat) and capped:
            answer = candidates.ask(clock, [])
            if isinstance(answer, Sat):  # at a higher cost
                cap += 1
                continue
        if (
            isinstance(answer, Unsat)
            and stated
            and not isinstance(_decide([*about_holes, premise], solver, clock), Sat)
        ):
            return Outcome("unsat", CONTRADICTION, asked=asked)
        if not isinstance(answer, Sat):
            return outcome_of(answer, asked)
        tried += 1
        guess = {symbol: _constant(symbol, answer.model) for symbol in holes}
        clock.doing = f"checking answer {tried} for all inputs"
        refuted = _decide([manager().Not(claim.substitute(guess))], solver, clock)
        if isinstance(refuted, Unknown):
            return outcome_of(refuted, asked)
        if isinstance(refuted, Unsat):
            return Outcome("sat", "", minimize is not None, answer.model, asked, claim)
        candidates.formulas.append(claim.substitute({symbol: _constant(symbol, refuted.model) for symbol in forall}))


class _Candidates(Struct):
    """What an answer has to meet so far. Each question starts a solver afresh: on bit-vectors, what it learnt before is
    worth less to it than to see all formulas at once."""

    solver: SolverName
    formulas: list[FNode]

    def ask(self, clock: Clock, more: Sequence[FNode]) -> Answer:
        """Look for an answer that meets more, too."""
        with Solver(self.solver) as engine:
            engine.add([*self.formulas, *more])
            return clock.late(engine.check(timeout=clock.left()))


def _examples(inputs: set[FNode]) -> list[dict[FNode, FNode]]:
    """Return some inputs to begin with, the same each time: none where an input is an integer, whose size is open."""
    ordered = sorted(inputs, key=lambda symbol: str(symbol.symbol_name()))
    if not ordered or any(symbol.symbol_type().is_int_type() for symbol in ordered):
        return []
    rng, m = random.Random(0), manager()

    def value(symbol: FNode) -> FNode:
        kind = symbol.symbol_type()
        return m.Bool(rng.random() < 0.5) if kind.is_bool_type() else m.BV(rng.randrange(1 << kind.width), kind.width)

    return [{symbol: value(symbol) for symbol in ordered} for _ in range(EXAMPLES)]


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


# ---- helpers ---------------------------------------------------------------------------------------------------


def _formula(conditions: Sequence[BooleanLike]) -> FNode:
    return all_of(*conditions).formula


def _symbols(*formulas: FNode) -> set[FNode]:
    return {symbol for formula in formulas for symbol in get_env().fvo.get_free_variables(formula)}


def _input_symbols(inputs: Sequence[Symbolic]) -> set[FNode]:
    for value in inputs:
        if not value.formula.is_symbol():
            raise SwizzleError(
                f"{value.formula} is an expression", expected="inputs that are symbols, like integer('x')"
            )
    return {value.formula for value in inputs}


def _decide(formulas: Sequence[FNode], solver: SolverName, clock: Clock) -> Answer:
    with Solver(solver) as engine:
        engine.add(formulas)
        return clock.checked(engine, [], *formulas)


def _constant(symbol: FNode, model: Model) -> FNode:
    value, kind, m = model.value(symbol), symbol.symbol_type(), manager()
    if kind.is_bool_type():
        return m.Bool(value)
    return m.BV(value, kind.width) if kind.is_bv_type() else m.Int(value)
