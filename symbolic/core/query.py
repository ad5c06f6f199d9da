"""The four queries over symbolic values: solve, verify, synthesize, optimize, as in Rosette. Synthesis is by
counterexamples (CEGIS): values of the holes such that all inputs meet what is demanded. Of several objectives the first
is optimized first, and constraints may be broken at a price.

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
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from pysmt.typing import BOOL
from typing_extensions import assert_never

from symbolic.core.obligations import assert_, assume, known, obligations
from symbolic.core.outcome import Clock, Outcome, outcome_of
from symbolic.core.value_types import IntegerLike, as_condition, describe
from symbolic.core.values import (
    BitVector,
    Boolean,
    BooleanLike,
    Integer,
    Real,
    Symbolic,
    all_of,
    boolean_hole,
    choose,
    hole,
    select,
)
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Answer, Model, Sat, Unknown, Unsat
from symbolic.solve.engines import SolverName
from symbolic.solve.evaluate import Specialised
from symbolic.solve.floor_division import manager
from symbolic.solve.solver import Solver
from symbolic.solve.tables import Value
from symbolic.solve.words import limits

if TYPE_CHECKING:
    from pysmt.fnode import FNode

    from symbolic.solve.z3_optimum import Least

Objective: TypeAlias = Integer | BitVector | Real
FAR: Final = 1 << 64
WORK: Final = 1_000_000
"""So many of z3's steps are spent on a guess at the best value, of which there are other ways to find it."""
BEYOND: Final = 256
"""A goal that is met beyond 2 to this power is taken to have no bound."""


class Soft(Struct, frozen=True, eq=False):
    """A condition that `optimize` breaks only where it must."""

    condition: Boolean
    weight: int

    def __repr__(self) -> str:
        return f"soft({self.condition.formula}, weight={self.weight})"

    def evaluated(self, model: Model) -> bool:
        """Tell whether it holds under a model: `outcome[soft]`."""
        return model.value(self.condition.formula) is True


def soft(condition: BooleanLike, *, weight: int = 1) -> Soft:
    """Return a condition for `optimize` that may be broken; of all that are, the weights count."""
    if not isinstance(weight, int) or isinstance(weight, bool) or weight < 1:
        raise SwizzleError(f"a weight that is {describe(weight)}", expected="a Python int, at least 1", fix="weight=1")
    return Soft(Boolean(as_condition(condition)), weight)


def optimize(
    *conditions: BooleanLike | Soft,
    minimize: Objective | Sequence[Objective] | None = None,
    maximize: Objective | Sequence[Objective] | None = None,
    solver: SolverName = "z3",
    timeout: float | None = None,
) -> Outcome:
    """Find the values with the least (or greatest) objective under assumptions, assertions and conditions.

    Of several objectives the first counts most, and each further one where those before it are equal. The weight of
    all `soft` conditions that are broken is minimized before any of them.

    A sat outcome is `optimal` when it was proved that nothing better exists; `proved` says so of each objective. When
    the `timeout` (seconds) ends the search, or an objective has no bound less than 2**256 away, the outcome holds the
    best so far, and `reason` says why.
    """
    softs = [each for each in conditions if isinstance(each, Soft)]
    hard = [each for each in conditions if not isinstance(each, Soft)]
    signed = _objectives(softs, minimize, maximize)
    now, clock = known(), Clock(timeout, "optimize")
    wanted = manager().And([*now.premises(), all_of(*now.assertions, *hard).formula])
    with Solver(solver) as engine:
        engine.add([wanted])
        guess = _guess(clock, [wanted], *signed[0], work=WORK)
        begun = manager().env.qfo.is_qf(wanted) and guess is not None and guess.model.value(wanted) is True
        answer = Sat(guess.model) if begun and guess is not None else clock.checked(engine, [], wanted)
        best = outcome_of(answer, tuple(now.made), (wanted,))
        demanded, proved = [wanted], list[bool]()
        for number, (objective, sign) in enumerate(signed, 1):
            if best.status != "sat":
                return best
            improved = _improved_real if isinstance(objective, Real) else _improved
            guess = guess if number == 1 else _guess(clock, demanded, objective, sign, work=WORK)
            best, reason = improved(engine, clock, demanded, best, objective, sign, guess)
            proved.append(not reason)
            if reason:
                which = f" in objective {number} of {len(signed)}" if len(signed) > 1 else ""
                shown = tuple(proved + [False] * (len(signed) - number))
                return replace(best, reason=f"not proved to be the best{which}: {reason}", proved=shown)
            demanded.append((objective == best[objective]).formula)
            engine.add(demanded[-1:])
        return best if best.status != "sat" else replace(
            best, optimal=True, proved=tuple(proved), reason=limits([wanted])
        )  # fmt: skip


def _reached(
    engine: Solver,
    clock: Clock,
    demanded: Sequence[FNode],
    objective: Any,
    sign: int,
    target: Any,
    strict: bool = False,
) -> Answer:
    """Ask for something at which sign * objective is at most a target; below it, when `strict`."""
    reach = manager().FreshSymbol(BOOL, "reach!%d")
    scaled = objective if sign > 0 else -objective if isinstance(objective, Real) else objective
    if isinstance(objective, BitVector | Integer) and sign < 0:
        bound = objective >= -target
    else:
        bound = scaled < target if strict else scaled <= target
    engine.add([manager().Implies(reach, bound.formula)])
    return clock.checked(engine, [reach], *demanded)


def _improved_real(
    engine: Solver, clock: Clock, demanded: Sequence[FNode], best: Outcome, objective: Any, sign: int,
    guess: Least | None,
) -> tuple[Outcome, str]:  # fmt: skip
    """Return the best outcome, and why it is not proved to be that: z3 guesses the least value of sign * objective, and
    the engine proves that it is reached and that nothing is below."""
    guess = guess or _guess(clock, demanded, objective, sign)
    if guess is None:
        return best, "no solver knows which value is the best"
    if guess.value is None:
        return best, "it has no bound: add the bound as a condition"
    answer = _reached(engine, clock, demanded, objective, sign, guess.value)
    if isinstance(answer, Sat):
        best = outcome_of(answer, best.asked, best.question)
    below = _reached(engine, clock, demanded, objective, sign, guess.value, True)
    for each in (answer, below):
        if isinstance(each, Unknown):
            return best, each.reason
    if isinstance(below, Sat):
        return outcome_of(below, best.asked, best.question), "no solver knows which value is the best"
    return best, "" if isinstance(answer, Sat) else f"its bound is {sign * guess.value}, which it never is"


def _guess(clock: Clock, demanded: Sequence[FNode], objective: Objective, sign: int, work: int = 0) -> Least | None:
    """Return what z3 takes for the least value of sign * objective, where it says so in as many steps."""
    if isinstance(objective, BitVector) or limits(demanded):
        return None
    from symbolic.solve.z3_optimum import least

    return least(demanded, (objective if sign > 0 else -objective).formula, clock.left(), work)


def _improved(
    engine: Solver, clock: Clock, demanded: Sequence[FNode], best: Outcome, objective: Any, sign: int,
    guess: Least | None,
) -> tuple[Outcome, str]:  # fmt: skip
    """Return the best outcome, and why it is not proved to be that.

    In terms of sign * objective: nothing below `floor` exists, and steps double until one is too far.
    """
    floor: int | None = None
    if isinstance(objective, BitVector):
        floor = min(sign * bound for bound in objective.bounds)
    step = 1
    if guess is not None and guess.met and guess.value is not None and guess.value.denominator == 1:
        step = max(1, sign * best[objective] - guess.value.numerator)
    while (reached := sign * best[objective]) != floor:
        if floor is None and step > FAR:
            step = max(step, 1 << BEYOND)
        target = reached - step if floor is None else max(reached - step, (reached + floor) // 2)
        answer = _reached(engine, clock, demanded, objective, sign, target)
        match answer:
            case Sat() if step >> BEYOND:
                way = "below -" if sign > 0 else "above "
                return best, f"it has no bound, or one {way}2**{BEYOND}: add the bound as a condition"
            case Sat():
                best, step, guess = outcome_of(answer, best.asked, best.question), 1 if guess else step * 2, None
            case Unsat():
                floor, step = target + 1, max(1, step // 2)
            case Unknown(reason):
                return best, reason
            case _:
                assert_never(answer)
    return best, ""


def _objectives(softs: Sequence[Soft], minimize: Any, maximize: Any) -> list[tuple[Objective, int]]:
    """Return what is minimized, with the sign 1, or maximized, with -1, in order."""
    if minimize is not None and maximize is not None:
        raise SwizzleError(
            "an objective to minimize and one to maximize, without an order",
            expected="minimize=... or maximize=...", fix="minimize=[cost, -value]",
        )  # fmt: skip
    given, sign = (minimize, 1) if minimize is not None else (maximize, -1)
    several = list(given) if isinstance(given, list | tuple) else [] if given is None else [given]
    if not several and not softs:
        raise SwizzleError(
            "an objective is missing", expected="minimize=... or maximize=..., or a soft condition", fix="minimize=x"
        )
    for each in several:
        if not isinstance(each, Objective):
            raise SwizzleError(
                f"an objective that is {describe(each)}", expected="an Integer, a BitVector or a Real",
                fix="select(condition, 1, 0)" if isinstance(each, Boolean) else "minimize=x",
            )  # fmt: skip
    found: list[tuple[Objective, int]] = [(each, sign) for each in several]
    if softs:
        broken = sum((select(each.condition, 0, each.weight) for each in softs), Integer(manager().Int(0)))
        found.insert(0, (broken, 1))
    return found


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
    question = (*about_holes, manager().ForAll(forall, claim) if forall else claim)
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
            return Outcome("unsat", CONTRADICTION, asked=asked, question=question)
        if not isinstance(answer, Sat):
            return outcome_of(answer, asked, question)
        tried += 1
        guess = {symbol: answer.model.value(symbol) for symbol in holes}
        clock.doing = f"checking answer {tried} for all inputs"
        refuted = decide([manager().Not(at_holes.at(guess))], solver, clock)
        if isinstance(refuted, Unknown):
            return outcome_of(refuted, asked, question)
        if isinstance(refuted, Unsat):
            return Outcome("sat", limits([claim]), minimize is not None, answer.model, asked, question)
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


__all__ = [
    "Outcome", "assert_", "assume", "boolean_hole", "choose", "hole", "obligations", "optimize", "solve",
    "synthesize", "verify",
]  # fmt: skip


def solve(*conditions: BooleanLike, solver: SolverName = "z3", timeout: float | None = None) -> Outcome:
    """Find values for all symbols under which assumptions, assertions and `conditions` hold; seconds."""
    now, clock = known(), Clock(timeout, "solve")
    wanted = _formula([*now.assertions, *conditions])
    question = (*now.premises(), wanted)
    return outcome_of(decide(question, solver, clock), tuple(now.made), question)


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
                return Outcome("unknown", CONTRADICTION, asked=tuple(now.made), question=(*premises, broken))
        else:
            engine.add([broken])
            answer = clock.checked(engine, [], broken)
    return outcome_of(answer, tuple(now.made), (*premises, broken))


def _formula(conditions: Sequence[BooleanLike]) -> FNode:
    return all_of(*conditions).formula
