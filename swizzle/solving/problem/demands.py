"""The examples of a search: the demands and the rules of a few threads, as clauses over guards.

What a kernel does does not depend on its input, so a few threads are enough to find a candidate. The concrete machine
runs a candidate for all threads. The output elements that are wrong for one thread, or a rule that a thread breaks, are
shown next. A thread that was looked at before is preferred, because what its holes may be is already built.

Scarce products: where a thread's outputs have as many items as it has products, none may go to waste.

A *product* is what one accumulate in one iteration may add, whichever accumulators it is offered to. It is one term,
and so an item of one output at most, if no item is in two outputs. Hence outputs whose items are as many as the
products that are offered to them need every product, and each for another item. That is a pigeonhole principle, which a
SAT solver would prove case by case: Mult-96 in registers takes seconds with it, and minutes without.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from swizzle.language.specs.verify import Mismatch
from swizzle.solving.problem.problem import Demand, Problem
from symbolic.machine.accumulators import Reduced
from symbolic.machine.run import Run, forbid_race
from symbolic.solve.interrupt import gc_paused
from symbolic.values.guard import Guards
from symbolic.values.union import Union
from symbolic.values.vector import Encoding, Vector, guard_at, reach
from templates.holes import Point

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


VIOLATIONS = 2  # broken rules of one candidate that are shown at once


class Examples:
    """The demands that a search has encoded, its examples; counterexamples are added to them (CEGIS)."""

    def __init__(
        self,
        problem: Problem,
        guards: Guards,
        hole: Callable[[int, Point], Union],
        first: Iterable[Demand],
        after_each: Callable[[], None] | None = None,
    ) -> None:
        """`after_each` is called when the clauses of a demand have been added."""
        self.problem, self._after_each = problem, after_each
        self.encoding = Encoding(guards, problem.terms, hole, signed=problem.signed)
        self.demands: set[Demand] = set()
        self._threads: set[int] = set()
        self._random = random.Random(0)
        for demand in first:
            self.look_at(demand)

    def look_at(self, demand: Demand) -> None:
        assert demand not in self.demands, "a candidate fails on something that the search was told of"
        self.demands.add(demand)
        thread = self.problem.thread_of(demand)
        with gc_paused():
            if thread not in self._threads:
                self._threads.add(thread)
                require_scarce(self.problem, self.encoding, thread)
            self.problem.require(self.encoding, demand)
        if self._after_each is not None:
            self._after_each()

    def refute(self, run: Run, wrong: Sequence[Mismatch], forbid: Callable[[], None], *, near: bool = False) -> bool:
        """Show what a candidate breaks; say whether it broke anything.

        `forbid` rules the candidate out by itself: a narrowed question may have an answer that is wrong although it
        meets everything that was shown.

        `near`: prefer a thread whose warp was looked at before. What it needs is built in part already. A proof is
        shorter with threads that have less in common.
        """
        if self._reads_unwritten(run) and self._look_at_new(run, wrong):
            return True
        for violation in run.violations[:VIOLATIONS]:
            if violation.other is not None:
                forbid_race(self.problem.run, violation, self.encoding)
            else:
                self.problem.run.obligations[violation.key](self.encoding, violation.thread)
        if run.violations:
            return True
        if not wrong:
            return False
        if wrong[0].array in self.problem.reductions:
            self._look_at_content(wrong, forbid)
            return True
        demands = [self.problem.demand_for(run, each.array, each.address) for each in wrong]
        known = [d for d in demands if self.problem.thread_of(d) in self._threads]
        others = (self._near(demands) if near else []) or demands
        thread = self.problem.thread_of(known[0] if known else self._random.choice(others))
        new = {d: None for d in demands if self.problem.thread_of(d) == thread and d not in self.demands}
        for demand in new:
            self.look_at(demand)
        if not new:
            self._forbid_narrowed(forbid)
        return True

    def _reads_unwritten(self, run: Run) -> bool:
        """Say whether only reads of unwritten cells are wrong, in a memory so large that few writers are asked."""
        unwritten = all(violation.key[-1] == "unwritten" for violation in run.violations)
        large = any(memory.is_large for memory in self.problem.run.memories.values())
        return bool(run.violations) and unwritten and large

    def _look_at_new(self, run: Run, wrong: Sequence[Mismatch]) -> bool:
        """Look at a wrong output that was not looked at; it says by whom its cell must be written."""
        some = (w for w in wrong if w.array not in self.problem.reductions)
        demands = (self.problem.demand_for(run, each.array, each.address) for each in some)
        found = next((demand for demand in demands if demand not in self.demands), None)
        if found is not None:
            self.look_at(found)
        return found is not None

    def _look_at_content(self, wrong: Sequence[Mismatch], forbid: Callable[[], None]) -> None:
        """Look at one item in all outputs: it tells more than all items of one output."""
        demands = (demand for each in wrong for demand in self.problem.contents(each) if demand not in self.demands)
        found = next(demands, None)
        if found is not None:
            self.look_at(found)
        else:
            self._forbid_narrowed(forbid)

    def _forbid_narrowed(self, forbid: Callable[[], None]) -> None:
        assert self.encoding.narrowed, "a candidate fails on something that the search was told of"
        forbid()

    def _near(self, demands: list[Demand]) -> list[Demand]:
        """Return the demands of threads whose warp was looked at."""
        size = self.problem.program.warp_size
        warps = {thread // size for thread in self._threads}
        return [d for d in demands if self.problem.thread_of(d) // size in warps]
