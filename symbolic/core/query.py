"""Holes, choices, assumptions, assertions and the four queries, as in Rosette: a solver-aided core by itself.

    with obligations():
        a, b, x = hole(), hole(), integer("x")
        assert_(x * x - 2 * x - 3 == (x - a) * (x - b))
        outcome = synthesize(inputs=[x])
        outcome[a], outcome[b]                            # 3, -1 in some order

Assumptions and assertions are collected in the innermost `with obligations()`; one nested in another starts from
what the outer one holds. Every query may also be given conditions directly. A query answers with an `Outcome`,
which is sat, unsat or unknown; none of the three is an exception. Every sat outcome has been evaluated in Python
integers on top of the solver's word.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from pysmt.environment import get_env
from pysmt.fnode import FNode
from pysmt.typing import BOOL, INT, BVType
from typing_extensions import assert_never

from symbolic.core.values import BitVector, Boolean, BooleanLike, Integer, Symbolic, all_of, select
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Answer, Model, Sat, Unknown, Unsat
from symbolic.solve.engines import SolverName
from symbolic.solve.evaluate import as_signed
from symbolic.solve.floor_division import manager
from symbolic.solve.solver import Solver

# ---- holes and choices -----------------------------------------------------------------------------------------


@overload
def hole() -> Integer: ...
@overload
def hole(*, width: int, signed: bool = False) -> BitVector: ...
def hole(*, width: int | None = None, signed: bool = False) -> Integer | BitVector:
    """Return a fresh constant for `synthesize` to find, Rosette's `??`: an integer, or a bit-vector of a width."""
    if width is None:
        return Integer(manager().FreshSymbol(INT, "hole!%d"))
    return BitVector(manager().FreshSymbol(BVType(width), "hole!%d"), signed)


def boolean_hole() -> Boolean:
    """Return a fresh truth value for `synthesize` to find."""
    return Boolean(manager().FreshSymbol(BOOL, "hole!%d"))


def choose(*alternatives: Any) -> Any:
    """Return one of the alternatives, whichever makes the query succeed; each call chooses anew."""
    if not alternatives:
        raise SwizzleError("a choice among nothing", expected="at least one alternative")
    chosen = alternatives[-1]
    for alternative in reversed(alternatives[:-1]):
        chosen = select(boolean_hole(), alternative, chosen)
    return chosen


# ---- assumptions and assertions --------------------------------------------------------------------------------


@dataclass(slots=True)
class Obligations:
    """What one `with obligations()` has collected."""

    assumptions: list[Boolean] = field(default_factory=list)
    assertions: list[Boolean] = field(default_factory=list)


_innermost: ContextVar[Obligations | None] = ContextVar("obligations", default=None)


@contextmanager
def obligations() -> Iterator[Obligations]:
    """Collect the assumptions and assertions made inside, on top of those of the enclosing block."""
    outer = _innermost.get()
    inner = Obligations(list(outer.assumptions), list(outer.assertions)) if outer else Obligations()
    token = _innermost.set(inner)
    try:
        yield inner
    finally:
        _innermost.reset(token)


def assume(condition: BooleanLike) -> None:
    """Restrict the queries of this block to inputs for which the condition holds."""
    _current("assume").assumptions.append(all_of(condition))


def assert_(condition: BooleanLike) -> None:
    """Demand the condition in the queries of this block."""
    _current("assert_").assertions.append(all_of(condition))


def _current(caller: str) -> Obligations:
    current = _innermost.get()
    if current is None:
        raise SwizzleError(f"{caller} outside of any block that collects", fix="with obligations(): ...")
    return current


# ---- outcomes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a query found out.

    'sat': there is an answer, read it by `outcome[value]`. 'unsat': it was proved that there is none. 'unknown':
    see `reason`. `optimal` says, for `optimize`, that a sat answer was proved to be the best.
    """

    status: Literal["sat", "unsat", "unknown"]
    reason: str = ""
    optimal: bool = False
    model: Model | None = None

    def __getitem__(self, value: Symbolic) -> int | bool:
        """Return the value of a symbolic value or expression: an int, or a bool for a Boolean."""
        if self.model is None:
            raise SwizzleError(
                f"this outcome is {self.status} and gives no values" + (f": {self.reason}" if self.reason else ""),
                expected="a sat outcome", fix="look at outcome.status first",
            )  # fmt: skip
        found = self.model.value(value.formula)
        assert isinstance(found, int)
        return as_signed(found, value.width) if isinstance(value, BitVector) and value.signed else found

    def evaluate(self, value: Symbolic) -> int | bool:
        """Return `outcome[value]`."""
        return self[value]


def _outcome(answer: Answer) -> Outcome:
    match answer:
        case Sat(model):
            return Outcome("sat", model=model)
        case Unsat():
            return Outcome("unsat")
        case Unknown(reason):
            return Outcome("unknown", reason)
        case _:
            assert_never(answer)


# ---- the four queries ------------------------------------------------------------------------------------------


def solve(*conditions: BooleanLike, solver: SolverName = "z3", timeout: float | None = None) -> Outcome:
    """Find values for all symbols under which assumptions, assertions and `conditions` hold; seconds."""
    known = _known()
    wanted = _formula([*known.assumptions, *known.assertions, *conditions])
    return _outcome(_decide([wanted], solver, _Clock(timeout)))


def verify(*conditions: BooleanLike, solver: SolverName = "z3", timeout: float | None = None) -> Outcome:
    """Look for a counterexample: values that meet the assumptions and break an assertion or a condition; seconds.

    'sat' holds the counterexample, 'unsat' means that it was proved for all values.
    """
    known = _known()
    broken = manager().Not(_formula([*known.assertions, *conditions]))
    return _outcome(_decide([_formula(known.assumptions), broken], solver, _Clock(timeout)))


def synthesize(
    *,
    inputs: Sequence[Symbolic],
    guarantee: BooleanLike = True,
    solver: SolverName = "z3",
    timeout: float | None = None,
) -> Outcome:
    """Find values for every symbol that is not an input, such that all inputs meet the assertions and `guarantee`.

    An assumption about inputs limits which inputs count, and at least one input must count; an assumption without
    inputs must hold of the answer. By counterexamples (CEGIS): ends for certain when the inputs are Booleans and
    bit-vectors; on integers it may need the `timeout` (seconds).
    """
    known, clock = _known(), _Clock(timeout)
    forall = _input_symbols(inputs)
    goal = _formula([*known.assertions, guarantee])
    about_inputs = [a for a in known.assumptions if _symbols(a.formula) & forall]
    about_holes = [a for a in known.assumptions if not _symbols(a.formula) & forall]
    premise = _formula(about_inputs)
    claim = manager().Implies(premise, goal)
    holes = _symbols(claim, _formula(about_holes)) - forall
    with Solver(solver) as candidates:
        candidates.add([_formula(about_holes)])
        if about_inputs:
            witness = {symbol: manager().FreshSymbol(symbol.symbol_type(), "witness!%d") for symbol in forall}
            candidates.add([premise.substitute(witness)])
        while True:
            answer = candidates.check(timeout=clock.left())
            if not isinstance(answer, Sat):
                return _outcome(answer)
            guess = {symbol: _constant(symbol, answer.model) for symbol in holes}
            refuted = _decide([manager().Not(claim.substitute(guess))], solver, clock)
            if isinstance(refuted, Unknown):
                return _outcome(refuted)
            if isinstance(refuted, Unsat):
                return _outcome(answer)
            counterexample = {symbol: _constant(symbol, refuted.model) for symbol in forall}
            candidates.add([claim.substitute(counterexample)])


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
    known, clock = _known(), _Clock(timeout)
    wanted = _formula([*known.assumptions, *known.assertions, *conditions])
    with Solver(solver) as engine:
        engine.add([wanted])
        best = _outcome(_checked(engine.check(timeout=clock.left()), wanted))
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
            answer = _checked(engine.check([reach], clock.left()), wanted)
            match answer:
                case Sat():
                    best, step = _outcome(answer), step * 2
                case Unsat():
                    floor, step = target + 1, max(1, step // 2)
                case Unknown(reason):
                    return Outcome("sat", f"not proved to be the best: {reason}", False, best.model)
                case _:
                    assert_never(answer)
        return Outcome("sat", "", True, best.model)


# ---- helpers ---------------------------------------------------------------------------------------------------


class _Clock:
    """The time that a whole query may take, shared out among its checks."""

    def __init__(self, timeout: float | None) -> None:
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        """Return the seconds left, never less than a moment."""
        return None if self._deadline is None else max(0.001, self._deadline - time.monotonic())


def _known() -> Obligations:
    return _innermost.get() or Obligations()


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


def _decide(formulas: Sequence[FNode], solver: SolverName, clock: _Clock) -> Answer:
    with Solver(solver) as engine:
        engine.add(formulas)
        return _checked(engine.check(timeout=clock.left()), *formulas)


def _checked(answer: Answer, *formulas: FNode) -> Answer:
    if isinstance(answer, Sat):
        assert all(answer.model.value(formula) for formula in formulas), "the solver's model does not satisfy"
    return answer


def _constant(symbol: FNode, model: Model) -> FNode:
    value, kind, m = model.value(symbol), symbol.symbol_type(), manager()
    if kind.is_bool_type():
        return m.Bool(value)
    return m.BV(value, kind.width) if kind.is_bv_type() else m.Int(value)
