"""Scarce products: where a thread's outputs have as many items as it has products, none may go to waste.

A *product* is what one accumulate in one iteration may add, whichever accumulators it is offered to. It is one term,
and so an item of one output at most, if no item is in two outputs. Hence outputs whose items are as many as the
products that are offered to them need every product, and each for another item. That is a pigeonhole principle, which
a SAT solver would prove case by case: Mult-96 in registers takes seconds with it, and minutes without.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from msgspec import Struct

from swizzle.solving.problem.problem import Problem
from symbolic.machine.accumulators import Reduced
from symbolic.values.vector import Encoding, Vector, guard_at, reach

Product: TypeAlias = tuple[str | None, str | None, tuple[int, ...]]
"""The operators that make it and that join it, and the identities of its operands."""


class Outputs(Struct):
    """Outputs of a thread to which the same products are offered: who sums them, how many items they need, and each
    product's predicates, one for each of those who sum."""

    sums: list[Reduced]
    needed: int
    items: set[int]
    products: dict[Product, list[Vector]]
    plain: bool = True  # nobody is offered a product twice, and no item is in two outputs


def require_scarce(problem: Problem, encoding: Encoding, thread: int) -> None:
    """Require of all outputs of a thread what follows from counting: of scarce products, each is used.

    Nothing cancels among them then, which is noted: a product whose items are taken off again is wasted.
    """
    for some in _outputs_of(problem, thread):
        if some.plain and some.needed >= len(some.products):
            for predicates in some.products.values() if some.needed == len(some.products) else [[]]:
                encoding.guards.add([guard_at(predicate, encoding, thread) for predicate in predicates])
            encoding.exact |= {(each.contributions, thread) for each in some.sums}


def _outputs_of(problem: Problem, thread: int) -> list[Outputs]:
    """Return what a thread stores of whose products it is known how many are needed, together where they share some."""
    found: list[Outputs] = []
    for array, seen in problem.finals.items():
        if seen.diffuse:
            continue
        for address in np.flatnonzero((seen.writer == thread) & (seen.version >= 0)).tolist():
            value = seen.values[int(seen.version[address])]
            mine = (
                _output(problem, value, thread, problem.wanted[array][address]) if isinstance(value, Reduced) else None
            )
            if mine is None:
                continue
            for other in [each for each in found if each.products.keys() & mine.products.keys()]:
                found.remove(other)
                mine = _together(other, mine)
            found.append(mine)
    return found


def _output(problem: Problem, value: Reduced, thread: int, term: int) -> Outputs | None:
    need = value.need(thread, term)
    items = set(value.order.items(term)) if value.order.counted else set()
    if need is None or value.init is not None or any(problem.terms.is_number(item, value.outer) for item in items):
        return None
    found = Outputs([value], need.items, items, {})
    for entry in value.entries:
        if True in reach(entry.mask, thread):
            inner = value.inner if len(entry.operands) > 1 else None
            product = value.outer, inner, tuple(map(id, entry.operands))
            found.plain &= product not in found.products
            found.products[product] = [entry.mask]
    return found


def _together(one: Outputs, other: Outputs) -> Outputs:
    products = dict(one.products)
    for product, predicates in other.products.items():
        products[product] = [*products.get(product, ()), *predicates]
    plain = one.plain and other.plain and one.items.isdisjoint(other.items)
    return Outputs(one.sums + other.sums, one.needed + other.needed, one.items | other.items, products, plain)
