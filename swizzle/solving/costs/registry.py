"""The costs by their names: ours, and those of installed packages (docs/extend.md).

Shuffles, clocks and bytes are counted on the kernel as it is printed, where what nothing reads is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from swizzle.solving.costs.accumulates import ACCUMULATES
from swizzle.solving.costs.cost import Cost, Filled
from swizzle.solving.costs.counted import Conflicts, FormulaTerms, Sectors
from symbolic.errors import SwizzleError, near, users_code
from symbolic.extensions import extension, extension_names


class Shuffles(Cost):
    """How many words of 4 bytes all warps of the grid shuffle: one shuffle of a double is two."""

    name = "shuffles"

    def of_run(self, filled: Filled) -> int:
        return filled.shuffles


class Clocks(Cost):
    """How many clocks shuffles and shared memory take, or what chooses and permutes words if that takes longer: those
    of the busiest pipe, for what threads exchange, added up over all warps of the grid.

    Shuffles and shared memory share a pipe: a word that is shuffled takes one clock, a turn of shared memory one. A
    choice between two words, or a word put together of two, takes half a clock of the pipe of arithmetic.
    """

    name = "clocks"

    def of_run(self, filled: Filled) -> int:
        turns = sum(access.passes for access in filled.accesses if access.memory == "shared")
        return max(filled.shuffles + turns, -(-filled.selects // 2))


class Bytes(Cost):
    """How many bytes of shared memory are in use, from the beginning of each array to the last word that is touched, in
    the block that uses most of it: what the arrays could be cut down to."""

    name = "bytes"

    def of_run(self, filled: Filled) -> int:
        ends: dict[str, int] = {}
        for access in filled.accesses:
            if access.memory == "shared":
                last = max(access.wanted)
                end = (last // access.width + 1) * access.width * access.size
                ends[access.array] = max(end, ends.get(access.array, 0))
        return sum(ends.values())


OURS: Final = {
    cost.name: cost for cost in (ACCUMULATES, Conflicts(), Sectors(), Shuffles(), Clocks(), Bytes(), FormulaTerms())
}


def cost_named(name: str) -> Cost:
    """Return the cost of a name; raises SwizzleError if there is none."""
    found = OURS.get(name) or extension("costs", name)
    if found is None:
        known = (*OURS, *extension_names("costs"))
        raise SwizzleError(
            f"there is no cost {name!r}",
            expected=f"one of {', '.join(known)}",
            fix=near(name, known) or "several are separated by commas, the most important first",
        )
    cost = _as_cost(found, name if name in OURS else f"{name!r} of swizzle.solving.costs")
    if cost.name != name:
        raise SwizzleError(
            f"the cost {name!r} calls itself {cost.name!r}",
            expected="one name, by which the command line and the answer know it",
            fix=f"write {cost.name} = ... under swizzle.solving.costs in the package's metadata",
        )
    return cost


def costs_of(asked: Any) -> tuple[Cost, ...]:
    """Return the costs that are asked for, in that order: by one name, cost or class, or by a list of them.

    Raises SwizzleError for an unknown name, a value that is no cost, a name that occurs twice, and an empty list.
    """
    some = asked if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]
    costs = tuple(cost_named(each) if isinstance(each, str) else _as_cost(each, repr(each)) for each in some)
    names = [cost.name for cost in costs]
    if not names or len(set(names)) < len(names):
        raise SwizzleError(
            f"the costs are {', '.join(names) or 'none'}",
            expected="at least one, and each only once",
            fix="leave the second one out" if names else "name one: accumulates",
        )
    return costs


def _as_cost(thing: Any, name: str) -> Cost:
    """Return a cost as it is, or one of its class."""
    made: Any = thing
    if isinstance(thing, type) and issubclass(thing, Cost):
        able = "a class whose objects are made without arguments, or an object that is made already"
        with users_code(f"making a cost of {name}", thing.__init__, able):
            made = thing()
    lacks = []
    if isinstance(made, Cost):
        lacks += ["`name`"] if not isinstance(getattr(made, "name", 0), str) else []
        lacks += ["`of_run`"] if type(made).of_run is Cost.of_run else []
    if not isinstance(made, Cost) or lacks:
        raise SwizzleError(
            f"{name} is not a cost" + (f": it has no {' and no '.join(lacks)}" if lacks else ""),
            expected="a subclass of swizzle.Cost with a `name` and a method `of_run`, or one of its objects",
            fix="see docs/extend.md",
        )
    taken = made.name in OURS and not isinstance(made, type(OURS[made.name]))
    if taken or not made.name.isidentifier():
        raise SwizzleError(
            f"a cost called {made.name!r}" + (", as one of Swizzle's own is" if taken else ""),
            expected="letters, digits and _, and none of " + ", ".join(OURS),
            fix=f"give {type(made).__name__} another name",
        )
    return made
