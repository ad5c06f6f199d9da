"""The contract of a cost: a number that describes a filled kernel, and that should be as small as possible.

Every cost can count on a kernel without open holes (`of_run`). A cost that a solver can bound while holes are open is a
`BoundedCost`; the search lowers it until a proof. Any other cost is counted on one solution after the other. It is
proved minimal if a solution reaches its `floor`, or if all solutions were counted.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from swizzle.solving.problem.problem import Problem
from symbolic.errors import SwizzleError, definition_place, is_ours, users_code
from symbolic.ir.program import Expr, Program
from symbolic.machine.accesses import WarpAccess
from symbolic.machine.run import Run
from symbolic.values.guard import Guard, Guards
from symbolic.values.vector import Encoding

if TYPE_CHECKING:
    from cuda_out.passes.printed_accesses import PrintedMoves


class Filled:
    """A kernel whose holes are filled, as a cost sees it; each part is computed when it is first asked for."""

    def __init__(self, program: Program, formulas: Sequence[Expr], run: Callable[[Program], Run]) -> None:
        """`program` is the kernel with its holes' shortest `formulas` in their places, before any pass rewrites it;
        `run` gives what the machine leaves behind of it."""
        self.program, self.formulas = program, tuple(formulas)
        self._run = run

    @cached_property
    def printed(self) -> Program:
        """The kernel as it is printed: the same program after all passes."""
        from cuda_out.passes.pipeline import optimize

        return optimize(self.program)

    @cached_property
    def run(self) -> Run:
        """The run of the whole grid, on canonical terms."""
        return self._run(self.program)

    @property
    def accesses(self) -> Sequence[WarpAccess]:
        """Every access of every warp to global and shared memory, with the widths that are printed."""
        return self._moves.accesses

    @property
    def shuffles(self) -> int:
        """How many words all warps of the grid shuffle, as they are printed."""
        return self._moves.shuffles

    @property
    def selects(self) -> int:
        """How many words all warps of the grid choose by a condition, as they are printed."""
        return self._moves.selects

    @cached_property
    def _moves(self) -> PrintedMoves:
        from cuda_out.passes.printed_accesses import printed_moves

        return printed_moves(self.program)


class Cost:
    """A number that should be as small as possible. `name` is a plural noun, used by `--cost` and in JSON."""

    name: str

    def of_run(self, filled: Filled) -> int:
        """Return the cost of a kernel without open holes."""
        raise NotImplementedError

    def floor(self, problem: Problem) -> int:
        """Return what every right filling costs at least, found by counting; 0 if nothing is known."""
        return 0


def counted(cost: Cost, filled: Filled) -> int:
    """Return what a cost counts on a filled kernel; SwizzleError if a user's cost fails, or returns no count."""
    with users_code(f"the cost {cost.name}", cost.of_run, "a method `of_run` that counts on any right kernel"):
        found = cost.of_run(filled)
    return _whole(cost, cost.of_run, found)


def floor_of(cost: Cost, problem: Problem) -> int:
    """Return a cost's floor; SwizzleError if a user's method fails, or returns no count."""
    with users_code(f"the floor of the cost {cost.name}", cost.floor, "a method `floor` for any sketch, or none"):
        found = cost.floor(problem)
    return _whole(cost, cost.floor, found)


def check_floor(cost: Cost, floor: int, found: int) -> None:
    """Raise SwizzleError where a right kernel costs less than a cost's floor, which is a mistake of the cost."""
    if found < floor:
        assert not is_ours(cost.floor.__code__.co_filename), f"a floor of {floor}, and {found}"
        raise SwizzleError(
            f"`floor` of the cost {cost.name} gives {floor}, and a right kernel costs {found}",
            place=definition_place(cost.floor.__code__),
            expected="a number below which no right kernel can be",
            fix="correct `floor` or `of_run`, or leave `floor` out",
        )


def _whole(cost: Cost, method: Callable[..., Any], found: Any) -> int:
    try:
        number = operator.index(found)
    except TypeError:
        number = -1
    if number < 0:
        raise SwizzleError(
            f"`{method.__name__}` of the cost {cost.name} gives {found!r}",
            place=definition_place(method.__code__),
            expected="a whole number, 0 or more",
            fix="return an int; round a fraction, and add a constant to what may be negative",
        )
    return number


class CostBound(Protocol):
    """A cost in the encoding of one search: guards with weights, and what bounds their sum."""

    def at_most(self, most: int) -> Guard | None:
        """Return the guard 'it costs at most so much'; None if that is true of every filling."""

    def look(self, encoding: Encoding) -> None:
        """Take in what was added to the encoding since the last call."""

    def refute(self, run: Run, holds: Callable[[Guard], bool], encoding: Encoding) -> None:
        """Rule out a model that claimed a lower cost than its run has."""


class BoundedCost(Cost):
    """A cost that a solver can bound while holes are open. It depends on the run alone, not on formulas."""

    def of_copies(self, run: Run, copies: int) -> Sequence[int]:
        """Return the cost of each of several launches that ran side by side."""
        raise NotImplementedError

    def of_run(self, filled: Filled) -> int:
        return self.of_copies(filled.run, 1)[0]

    def most(self, problem: Problem) -> int:
        """Return what no filling can exceed; if this is the floor, no filling changes the cost."""
        raise NotImplementedError

    def bound(self, problem: Problem, guards: Guards) -> CostBound:
        """Return the cost in a search's encoding, with the `at_most` of the contract."""
        raise NotImplementedError


class _Unbounded:
    """The bound of what costs nothing."""

    def at_most(self, most: int) -> Guard | None:
        return None

    def look(self, encoding: Encoding) -> None:
        """There is nothing to look at."""

    def refute(self, run: Run, holds: Callable[[Guard], bool], encoding: Encoding) -> None:
        raise AssertionError("nothing costs more than nothing")


class Nothing(BoundedCost):
    """A cost that is always 0: what a search lowers if none of the costs asked for can be bounded."""

    name = "nothing"

    def of_copies(self, run: Run, copies: int) -> Sequence[int]:
        return [0] * copies

    def most(self, problem: Problem) -> int:
        return 0

    def bound(self, problem: Problem, guards: Guards) -> CostBound:
        return _Unbounded()
