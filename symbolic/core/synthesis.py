"""Synthesis by counterexamples (CEGIS): values of the holes such that all inputs meet what is demanded."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from symbolic.core.obligations import known
from symbolic.core.outcome import Clock, Outcome, outcome_of
from symbolic.core.value_types import Boolean, IntegerLike, describe
from symbolic.core.values import BitVector, BooleanLike, Integer, Symbolic, all_of
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Answer, Model, Sat, Unknown, Unsat
from symbolic.solve.engines import SolverName
from symbolic.solve.evaluate import Specialised, Value
from symbolic.solve.floor_division import manager
from symbolic.solve.solver import Solver

if TYPE_CHECKING:
    from pysmt.fnode import FNode

EXAMPLES = 8
CONTRADICTION = "the assumptions contradict each other: no input meets them, so that nothing is proved"


class CostedValues(Protocol):
    """Values of holes, and what they cost."""

    values: dict[FNode, bool]
    cost: int


class Trying(Protocol):
    """What tries all programs, the cheapest first."""

    def best(
        self, examples: Sequence[Mapping[FNode, Value]], least: int, late: Callable[[], bool]
    ) -> CostedValues | int | None:
        """Return the cheapest program that fits the examples, of which none is below `least`; None where there is none,
        an int where none below it fits and more are too many."""


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
    found has the least, and the outcome is `optimal`. Where it is the `cost` of a function with one call of a grammar,
    programs are tried by their values on examples; a solver looks for them otherwise, and where they are too many.
    """
    now, clock = known(), Clock(timeout, "synthesize")
    forall = input_symbols(inputs)
    if isinstance(minimize, int):  # one cost, whatever is chosen
        minimize = None
    if minimize is not None and symbols(minimize.formula) & forall:
        raise SwizzleError("what is minimized depends on an input", expected="a cost of the holes", fix="cost(program)")
    goal = all_of(*now.assertions, guarantee).formula
    stated = list(zip(now.assumptions, now.premises(), strict=True))
    about_inputs = [premise for assumed, premise in stated if symbols(assumed.formula) & forall]
    about_holes = [assumed.formula for assumed, _ in stated if not symbols(assumed.formula) & forall]
    for symbol in symbols(goal, *about_inputs, *about_holes):
        if symbol.symbol_type().is_function_type():
            raise SwizzleError(
                f"synthesize with the uninterpreted function {symbol.symbol_name()}", expected="holes that are values",
                fix="a grammar for the function, or solve",
            )  # fmt: skip
    premise = manager().And(about_inputs)
    claim = manager().Implies(premise, goal)
    holes = symbols(claim, *about_holes) - forall
    asked = tuple(now.made)
    at_example, at_holes = Specialised(claim, forall), Specialised(claim, holes)
    candidates = _Candidates(solver, clock, minimize, at_example, list(about_holes))
    if about_inputs:
        witness = {symbol: manager().FreshSymbol(symbol.symbol_type(), "witness!%d") for symbol in forall}
        candidates.formulas.append(premise.substitute(witness))
    if all(s.symbol_type().is_bool_type() or s.symbol_type().is_bv_type() for s in forall):  # others have no size
        for example in _examples(forall):
            candidates.learn(example)
    enumeration = getattr(minimize, "enumeration", None)
    if enumeration is not None and _only_of_inputs(about_inputs, about_holes, forall, solver, clock):
        candidates.trying = enumeration(claim, forall)
        candidates.examples += [] if candidates.examples else _examples(forall)
    tried = 0
    while True:
        clock.doing = f"looking for an answer after {tried} that failed"
        answer = candidates.next()
        if isinstance(answer, Unsat) and stated and not isinstance(decide([*about_holes, premise], solver, clock), Sat):
            return Outcome("unsat", CONTRADICTION, asked=asked)
        if not isinstance(answer, Sat):
            return outcome_of(answer, asked)
        tried += 1
        guess = {symbol: answer.model.value(symbol) for symbol in holes}
        clock.doing = f"checking answer {tried} for all inputs"
        refuted = decide([manager().Not(at_holes.at(guess))], solver, clock)
        if isinstance(refuted, Unknown):
            return outcome_of(refuted, asked)
        if isinstance(refuted, Unsat):
            return Outcome("sat", "", minimize is not None, answer.model, asked, claim)
        candidates.learn({symbol: refuted.model.value(symbol) for symbol in forall})


def _only_of_inputs(
    about_inputs: list[FNode], about_holes: list[FNode], inputs: set[FNode], solver: SolverName, clock: Clock
) -> bool:
    """Tell whether all that is assumed is about inputs alone, and some meet it."""
    if about_holes or not symbols(*about_inputs) <= inputs:
        return False
    return not about_inputs or isinstance(decide(about_inputs, solver, clock), Sat)


class _Candidates(Struct):
    """What an answer has to meet so far. Each question starts a solver afresh: on bit-vectors, what it learnt before is
    worth less to it than to see all formulas at once."""

    solver: SolverName
    clock: Clock
    minimize: Integer | BitVector | None
    at_example: Specialised
    formulas: list[FNode]
    examples: list[dict[FNode, Value]] = field(default_factory=list)
    trying: Trying | None = None
    least: int = 0
    """Nothing costs less."""

    def learn(self, example: dict[FNode, Value]) -> None:
        """Demand of the next answer that it is right for an input, too."""
        self.examples.append(example)
        self.formulas.append(self.at_example.at(example))

    def next(self) -> Answer:
        """Look for an answer that is right for all examples, and as cheap as can be."""
        if self.trying is not None:
            left = self.clock.left()
            end = None if left is None else time.monotonic() + left
            found = self.trying.best(self.examples, self.least, lambda: end is not None and time.monotonic() > end)
            if found is None:
                return Unsat(())
            if not isinstance(found, int):
                self.least = found.cost
                return Sat(Model(found.values.get))
            self.trying, self.least = None, found
        if self.minimize is None:
            return self._ask([])
        while True:
            answer = self._ask([(self.minimize <= self.least).formula])
            if not isinstance(answer, Unsat):
                return answer
            answer = self._ask([])
            if not isinstance(answer, Sat):
                return answer
            self.least += 1

    def _ask(self, more: Sequence[FNode]) -> Answer:
        with Solver(self.solver) as engine:
            engine.add([*self.formulas, *more])
            return self.clock.late(engine.check(timeout=self.clock.left()))


def _examples(inputs: set[FNode]) -> list[dict[FNode, Value]]:
    """Return some inputs to begin with, the same each time; integers are small."""
    ordered = sorted(inputs, key=lambda symbol: str(symbol.symbol_name()))
    rng = random.Random(0)

    def value(symbol: FNode) -> Value:
        kind = symbol.symbol_type()
        if kind.is_bool_type():
            return rng.random() < 0.5
        return rng.randrange(1 << kind.width) if kind.is_bv_type() else rng.randrange(-8, 9)

    return [{symbol: value(symbol) for symbol in ordered} for _ in range(EXAMPLES)] if ordered else []


# ---- helpers ---------------------------------------------------------------------------------------------------


def symbols(*formulas: FNode) -> set[FNode]:
    """Return the symbols of formulas."""
    from pysmt.environment import get_env

    return {symbol for formula in formulas for symbol in get_env().fvo.get_free_variables(formula)}


def input_symbols(inputs: Sequence[Symbolic]) -> set[FNode]:
    """Return the symbols that inputs are; SwizzleError where one is none."""
    if not isinstance(inputs, list | tuple):
        raise SwizzleError(f"inputs that are {describe(inputs)}", expected="a list of symbols", fix="inputs=[x]")
    for value in inputs:
        if not isinstance(value, IntegerLike | Boolean):
            raise SwizzleError(
                f"{describe(value)} among the inputs", expected="symbols, like integer('x')", fix="leave it out"
            )
        if not value.formula.is_symbol():
            raise SwizzleError(
                f"{value.formula} is an expression", expected="inputs that are symbols, like integer('x')",
                fix="name the symbols that it is made of",
            )  # fmt: skip
    return {value.formula for value in inputs}


def decide(formulas: Sequence[FNode], solver: SolverName, clock: Clock) -> Answer:
    """Ask a new solver."""
    with Solver(solver) as engine:
        engine.add(formulas)
        return clock.checked(engine, [], *formulas)
