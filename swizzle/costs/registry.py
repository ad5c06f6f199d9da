"""The costs by their names: ours, and those of installed packages (docs/extend.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from swizzle.costs.accumulates import ACCUMULATES
from swizzle.costs.conflicts import Conflicts
from swizzle.costs.cost import Cost
from swizzle.costs.sectors import Sectors
from symbolic.errors import SwizzleError
from symbolic.extensions import extension, extension_names

OURS: Final = {cost.name: cost for cost in (ACCUMULATES, Conflicts(), Sectors())}


def cost_named(name: str) -> Cost:
    """Return the cost of a name; raises SwizzleError where nobody has one."""
    found = OURS.get(name) or _as_cost(extension("costs", name), name)
    if found is None:
        raise SwizzleError(
            f"there is no cost {name!r}",
            expected=f"one of {', '.join((*OURS, *extension_names('costs')))}",
            mend="several are separated by commas, the most important first",
        )
    return found


def costs_of(asked: Sequence[Any]) -> tuple[Cost, ...]:
    """Return the costs that a list of names and costs asks for, in its order.

    Raises SwizzleError for an unknown name, what is no cost, a name that is there twice, and an empty list.
    """
    found = [cost_named(each) if isinstance(each, str) else _as_cost(each, repr(each)) for each in asked]
    costs = tuple(cost for cost in found if cost is not None)
    names = [cost.name for cost in costs]
    if not names or len(set(names)) < len(names):
        raise SwizzleError(
            f"the costs are {', '.join(names) or 'none'}",
            expected="at least one, and each only once",
            mend="leave the second one out" if names else "name one: accumulates",
        )
    return costs


def _as_cost(thing: Any, name: str) -> Cost | None:
    """Return a cost as it is, or one of its class; None for None."""
    made = thing() if isinstance(thing, type) and issubclass(thing, Cost) else thing
    if made is None:
        return None
    counts = isinstance(made, Cost) and type(made).of_run is not Cost.of_run
    if counts and isinstance(getattr(made, "name", None), str):
        return made
    raise SwizzleError(
        f"{name} is not a cost",
        expected="a subclass of swizzle.Cost with a `name` and a method `of_run`, or one of its objects",
    )
