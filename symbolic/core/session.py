"""Many questions to one solver that remembers: conditions that come and go, one solution after the other, and cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING

from pysmt.typing import BOOL

from symbolic.core.obligations import known
from symbolic.core.outcome import Clock, Outcome, checked, outcome_of
from symbolic.core.values import BooleanLike, Symbolic, all_of
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Answer, Sat, Unknown, Unsat
from symbolic.solve.engines import SolverName
from symbolic.solve.floor_division import manager
from symbolic.solve.solver import Solver

if TYPE_CHECKING:
    from pysmt.fnode import FNode


class Session:
    """Conditions that one solver keeps from question to question, on top of the block's assumptions and assertions:
    those from before it was opened, and those that were made by the time of a question.

    It is opened by `with`, and its solver ends with the block::

        with Session(x > 0) as session:
            session.add(x < 10)
            with session.pushed(x > 5):
                session.solve()
            [outcome[x] for outcome in session.solutions(x)]
    """

    def __init__(self, *conditions: BooleanLike, solver: SolverName = "z3") -> None:
        now = known()
        self._solver = Solver(solver)
        self._levels: list[FNode] = []
        self._formulas: list[list[FNode]] = [[]]
        self._formulas[0] += [*now.premises(), *(each.formula for each in now.assertions)]
        self._solver.add(self._formulas[0])
        self._switches: dict[FNode, FNode] = {}
        self.add(*conditions)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._solver.close()

    def add(self, *conditions: BooleanLike) -> None:
        """Demand conditions until the level that is open now is popped."""
        formula = all_of(*conditions).formula
        self._formulas[-1].append(formula)
        self._solver.add([manager().Implies(self._levels[-1], formula)] if self._levels else [formula])

    def push(self, *conditions: BooleanLike) -> None:
        """Open a level: what is added from now on holds until `pop`."""
        self._levels.append(manager().FreshSymbol(BOOL, "level!%d"))
        self._formulas.append([])
        self.add(*conditions)

    def pop(self) -> None:
        """Drop what was added since the last `push`; SwizzleError where there was none."""
        if not self._levels:
            raise SwizzleError(
                "pop without a push", expected="a level that is open",
                fix="one push() before each pop(), or `with session.pushed(...):`, which pops by itself",
            )  # fmt: skip
        self._formulas.pop()
        self._solver.add([manager().Not(self._levels.pop())])

    @contextmanager
    def pushed(self, *conditions: BooleanLike) -> Iterator[None]:
        """Open a level for the block inside."""
        self.push(*conditions)
        try:
            yield
        finally:
            self.pop()

    def solve(self, *conditions: BooleanLike, timeout: float | None = None) -> Outcome:
        """Find values under which all that was added holds, and these conditions, which are dropped again; seconds."""
        with self.pushed(*conditions) if conditions else nullcontext():
            return outcome_of(self._answer(Clock(timeout, "solve")), tuple(known().made), self._asked())

    def solutions(self, *values: Symbolic, timeout: float | None = None) -> Iterator[Outcome]:
        """Yield one solution after the other, in which the values differ, until there are no more; seconds for each.

        An outcome that is unknown is the last. What was yielded counts as a solution again afterwards.
        """
        if not values:
            raise SwizzleError(
                "solutions of nothing", expected="the values in which they differ", fix="solutions(x, y)"
            )
        with self.pushed():
            while True:
                answer = self._answer(Clock(timeout, "solutions"))
                if isinstance(answer, Unsat):
                    return
                outcome = outcome_of(answer, tuple(known().made), self._asked())
                yield outcome
                if isinstance(answer, Unknown):
                    return
                self.add(~all_of(*(value == outcome[value] for value in values)))

    def _answer(self, clock: Clock) -> Answer:
        since = self._said_since()
        answer = clock.late(
            self._solver.check([*self._levels, *(self._switches[each] for each in since)], clock.left())
        )
        return checked(answer, *since, *self._asked())

    def _asked(self) -> tuple[FNode, ...]:
        """Return what was added to the levels that are open."""
        return tuple(formula for level in self._formulas for formula in level)

    def _said_since(self) -> list[FNode]:
        """Return what the block assumes and asserts by now, as far as it did not when the session was opened."""
        now, before = known(), set(self._formulas[0])
        said = dict.fromkeys([*now.premises(), *(each.formula for each in now.assertions)])
        since = [formula for formula in said if formula not in before]
        for formula in since:
            if formula not in self._switches:
                self._switches[formula] = manager().FreshSymbol(BOOL, "said!%d")
                self._solver.add([manager().Implies(self._switches[formula], formula)])
        return since


def unsat_core(
    *conditions: BooleanLike, smallest: bool = False, solver: SolverName = "z3", timeout: float | None = None
) -> list[int] | None:
    """Return which of the conditions contradict each other, by their places; None where they do not.

    No condition of it can be left out; with `smallest`, there is none of fewer conditions. The block's assumptions and
    assertions are taken for granted. Raises SwizzleError where no answer was found in time (seconds).
    """
    now, clock = known(), Clock(timeout, "unsat_core")
    switches = [manager().FreshSymbol(BOOL, "switch!%d") for _ in conditions]
    place = {switch: i for i, switch in enumerate(switches)}
    with Solver(solver) as engine:
        engine.add([*now.premises(), *(each.formula for each in now.assertions)])
        engine.add(
            manager().Implies(switch, all_of(each).formula) for switch, each in zip(switches, conditions, strict=True)
        )

        def core(some: Sequence[FNode]) -> list[FNode] | None:
            match clock.late(engine.check(some, clock.left())):
                case Sat():
                    return None
                case Unsat(found):
                    return [switch for switch in some if switch in found]
                case Unknown(reason):
                    raise SwizzleError(reason, expected=expected, fix="a longer timeout")

        expected = "an answer"
        found = core(switches)
        if found is None:
            return None
        for switch in list(found):
            expected = f"an answer; conditions {', '.join(str(place[each]) for each in found)} contradict each other"
            fewer = core([each for each in found if each is not switch]) if switch in found else None
            if fewer is not None:
                found = fewer
        missed: list[frozenset[FNode]] = []  # what a solution breaks: a core has one of each
        while smallest and (wanted := _hitting(missed, len(found) - 1)) is not None:
            match clock.late(engine.check(list(wanted), clock.left())):
                case Unsat():
                    found = list(wanted)
                    break
                case Sat(model):
                    holds = {
                        s for s, each in zip(switches, conditions, strict=True) if model.value(all_of(each).formula)
                    }
                    missed.append(frozenset(switches) - holds)
                case Unknown(reason):
                    raise SwizzleError(reason, expected="an answer", fix="a longer timeout")
    return sorted(place[switch] for switch in found)


def _hitting(sets: Sequence[frozenset[FNode]], most: int) -> frozenset[FNode] | None:
    """Return a smallest set with an element of each, of at most so many elements; None where there is none."""

    def search(left: Sequence[frozenset[FNode]], size: int) -> frozenset[FNode] | None:
        if not left:
            return frozenset()
        if not size:
            return None
        for element in sorted(sorted(left, key=len)[0], key=lambda each: each.node_id()):
            rest = search([each for each in left if element not in each], size - 1)
            if rest is not None:
                return rest | {element}
        return None

    return next((found for size in range(most + 1) if (found := search(sets, size)) is not None), None)
