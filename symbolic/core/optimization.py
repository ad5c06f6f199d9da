"""Best solutions: several objectives one after the other, and constraints that may be broken at a price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from pysmt.typing import BOOL
from typing_extensions import assert_never

from symbolic.core.obligations import known
from symbolic.core.outcome import Clock, Outcome, outcome_of
from symbolic.core.value_types import as_condition, describe
from symbolic.core.values import BitVector, Boolean, BooleanLike, Integer, all_of, select
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Model, Sat, Unknown, Unsat
from symbolic.solve.engines import SolverName
from symbolic.solve.floor_division import manager
from symbolic.solve.solver import Solver

if TYPE_CHECKING:
    from pysmt.fnode import FNode

Objective: TypeAlias = Integer | BitVector
FAR: Final = 1 << 64
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
        best = outcome_of(clock.checked(engine, [], wanted), tuple(now.made), wanted)
        proved: list[bool] = []
        for number, (objective, sign) in enumerate(signed, 1):
            if best.status != "sat":
                return best
            best, reason = _improved(engine, clock, wanted, best, objective, sign)
            proved.append(not reason)
            if reason:
                which = f" in objective {number} of {len(signed)}" if len(signed) > 1 else ""
                shown = tuple(proved + [False] * (len(signed) - number))
                return replace(best, reason=f"not proved to be the best{which}: {reason}", proved=shown)
            engine.add([(objective == best[objective]).formula])
        return best if best.status != "sat" else replace(best, optimal=True, proved=tuple(proved))


def _improved(
    engine: Solver, clock: Clock, wanted: FNode, best: Outcome, objective: Objective, sign: int
) -> tuple[Outcome, str]:
    """Return the best outcome, and why it is not proved to be that.

    In terms of sign * objective: nothing below `floor` exists, and steps double until one is too far.
    """
    floor: int | None = None
    if isinstance(objective, BitVector):
        floor = min(sign * bound for bound in objective.bounds)
    step = 1
    while (reached := sign * best[objective]) != floor:
        if floor is None and step > FAR:
            step = max(step, 1 << BEYOND)
        target = reached - step if floor is None else max(reached - step, (reached + floor) // 2)
        reach = manager().FreshSymbol(BOOL, "reach!%d")
        bound = objective <= target if sign > 0 else objective >= -target
        engine.add([manager().Implies(reach, bound.formula)])
        answer = clock.checked(engine, [reach], wanted)
        match answer:
            case Sat() if step >> BEYOND:
                way = "below -" if sign > 0 else "above "
                return best, f"it has no bound, or one {way}2**{BEYOND}: add the bound as a condition"
            case Sat():
                best, step = outcome_of(answer, best.asked, wanted), step * 2
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
        if not isinstance(each, Integer | BitVector):
            fix = "n, of a Real that is n parts of something"
            raise SwizzleError(
                f"an objective that is {describe(each)}", expected="an Integer or a BitVector",
                fix="select(condition, 1, 0)" if isinstance(each, Boolean) else fix,
            )  # fmt: skip
    found: list[tuple[Objective, int]] = [(each, sign) for each in several]
    if softs:
        broken = sum((select(each.condition, 0, each.weight) for each in softs), Integer(manager().Int(0)))
        found.insert(0, (broken, 1))
    return found
