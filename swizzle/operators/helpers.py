"""Words that may help: beside a loop's state they say more of a part, the least value so far, the first element."""

from __future__ import annotations

from msgspec import Struct

from swizzle.operators.loop import BOOL, Loop, name_of
from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression, maximum, minimum, number_name, subexpressions, substituted
from symbolic.ir.program import DType


class Helper(Struct, frozen=True):
    """A word beside the state: what it is after one element, and what it becomes with one more, over all such words,
    the element, the state before it and after it (`new.WORD`)."""

    name: str
    dtype: DType
    lift: Expression
    step: Expression
    initial: Expression | None = None
    """What it is of no element, where it is anything then."""


def helpers_of(loop: Loop) -> list[Helper]:
    """Return words that may help, likely ones first."""
    found: list[Helper] = []

    def extremes(
        what: str, dtype: DType, new: Expression, first: Expression | None = None, once: Expression | None = None
    ) -> None:  # fmt: skip
        """Add the least and the greatest of something so far, `first` among them; of one element it is `once`."""
        for kind, choose in (("least", minimum), ("greatest", maximum)):
            name = f"{kind}_{what}"
            lift = once or (new if first is None else choose(new, first))
            found.append(Helper(name, dtype, lift, choose(number_name(name), new), first))

    for place, (apart, once, dtype) in enumerate(_distances(loop)):
        extremes(f"distance{place or ''}", dtype, apart, once=once)
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


def products_of(loop: Loop) -> list[Helper]:
    """Return the product of elements, and the greatest and the least one of a part's beginning, where words are
    multiplied by an element."""
    found: list[Helper] = []
    nodes = [node for word in loop.live for node in subexpressions(loop.step[word]) if node.operator == "*"]
    factors = {name for node in nodes if node.names & loop.state.keys() for name in node.names & loop.elements.keys()}
    for name in sorted(factors):
        dtype = loop.elements[name]
        element, product = name_of(name, dtype), number_name(f"product_{name}")
        more = e.multiply(product, element)
        found.append(Helper(product.value, dtype, element, more, e.ONE))
        for kind, choose in (("least", minimum), ("greatest", maximum)):
            own = number_name(f"{kind}_product_{name}")
            found.append(Helper(own.value, dtype, element, choose(own, more)))
    return found


def _distances(loop: Loop) -> list[tuple[Expression, Expression, DType]]:
    """Return how far numbers of the state are from elements that the loop's text compares them with: before an
    element, before the first one, and the type."""
    found: dict[Expression, tuple[Expression, Expression, DType]] = {}
    for node in (node for each in loop.live for node in subexpressions(loop.step[each])):
        elements, state = node.names & loop.elements.keys(), node.names & set(loop.live)
        kinds = [loop.types[name] for name in (*elements, *state)]
        if node.operator not in ("<", "<=") or not elements or not state or BOOL in kinds:
            continue
        if not any(each.infinite for each in (*node.arguments, *(loop.initial[name] for name in state))):
            apart = e.subtract(*node.arguments[::-1])
            found[apart] = apart, substituted(apart, loop.initial), loop.types[min(elements)]
    return list(found.values())[:2]


def _tests(loop: Loop) -> list[Expression]:
    """Return the conditions on elements that the loop's text has."""
    found: dict[Expression, None] = {}
    for each in loop.step.values():
        for node in subexpressions(each):
            if node.truth and node.names and node.names <= set(loop.elements) and node.operator not in ("and", "or"):
                found.setdefault(node if e.negation(node) not in found else e.negation(node))
    return list(found)[:4]
