"""Words that may help: beside a loop's state they say more of a part, the least value so far, the first element."""

from __future__ import annotations

from msgspec import Struct

from swizzle.operators.loop import BOOL, Loop, name_of
from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression, maximum, minimum, number_name, subexpressions
from symbolic.ir.program import DType


class Helper(Struct, frozen=True):
    """A word beside the state: what it is after one element, and what it becomes with one more, over itself, the
    element, and the state after it (`new.WORD`)."""

    name: str
    dtype: DType
    lift: Expression
    step: Expression
    initial: Expression | None = None
    """What it is of no element, where it is anything then."""


def helpers_of(loop: Loop) -> list[Helper]:
    """Return words that may help, likely ones first."""
    found: list[Helper] = []

    def extremes(what: str, dtype: DType, new: Expression, first: Expression | None = None) -> None:
        """Add the least and the greatest of something so far, `first` among them."""
        for kind, choose in (("least", minimum), ("greatest", maximum)):
            name = f"{kind}_{what}"
            lift = new if first is None else choose(new, first)
            found.append(Helper(name, dtype, lift, choose(number_name(name), new), first))

    for name, dtype in loop.elements.items():
        own = name_of(f"first_{name}", dtype)
        found.append(Helper(own.value, dtype, name_of(name, dtype), own))
    for name in loop.live:
        if loop.state[name] is not BOOL:
            if not loop.initial[name].infinite:
                extremes(name, loop.state[name], number_name(f"new.{name}"), loop.initial[name])
            extremes(name, loop.state[name], number_name(f"new.{name}"))
    for name, dtype in loop.elements.items():
        element = name_of(name, dtype)
        if dtype is not BOOL:
            extremes(name, dtype, element)
            found.append(Helper(f"sum_{name}", dtype, element, e.add(number_name(f"sum_{name}"), element), e.ZERO))
        found.append(Helper(f"last_{name}", dtype, element, element))
    for place, test in enumerate(_tests(loop)):
        for kind, together, first in (("all", e.both, e.TRUE), ("any", e.either, e.FALSE)):
            own = name_of(f"{kind}_{place}", BOOL)
            found.append(Helper(own.value, BOOL, test, together(own, test), first))
    found.append(Helper("count", DType.I32, e.ONE, e.add(number_name("count"), e.ONE), e.ZERO))
    return found


def _tests(loop: Loop) -> list[Expression]:
    """Return the conditions on elements that the loop's text has."""
    found: dict[Expression, None] = {}
    for each in loop.step.values():
        for node in subexpressions(each):
            if node.truth and node.names and node.names <= set(loop.elements) and node.operator not in ("and", "or"):
                found.setdefault(node if e.negation(node) not in found else e.negation(node))
    return list(found)[:4]
