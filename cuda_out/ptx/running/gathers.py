"""Accesses whose address depends on data: `gather(x, c)`, an element of a read-only array at an index that data
decides, and atomic operations on such an element.

An address is the array's beginning and a polynomial over input elements. What is loaded is a function of the index: the
specification has the same function of the same index (`cuda_out.ptx.running.expected`). Index data has a declared
range, which is assumed; with it the index must be within the array, whatever it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import inf

from msgspec import Struct

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import width
from cuda_out.ptx.running.memory import Broken, Region
from cuda_out.ptx.syntax import Instruction, NotInterpreted
from symbolic.algebra.terms import Term


def gather_name(array: str, kind: str) -> str:
    """Return the operator that reads an element of an array, of some type, by its place."""
    return f"gather {array}:{kind}"


class Gathers(Struct):
    """What loads by data give: of arrays that nobody writes, whose element types are `kinds`."""

    normal: Normal
    kinds: Mapping[str, str]

    def element(self, instruction: Instruction, regions: list[Region], address: Term, offset: int, bits: int) -> Term:
        """Return what is at an address that depends on data; raise NotInterpreted where that is not known."""
        region, index, _ = self.placed(instruction, regions, address, offset, bits, "global")
        kind = self.kinds.get(region.name, "")
        if not kind or region.writable or width(kind) != bits:
            raise self._refused(instruction, address)
        return self.normal.terms.apply(gather_name(region.name, kind), (index,))

    def placed(
        self, instruction: Instruction, regions: list[Region], address: Term, offset: int, bits: int, space: str
    ) -> tuple[Region, Term, range]:
        """Return of which array of a state space an address is that depends on data, the index of its element, and from
        where to where that is; raise NotInterpreted where it is not known."""
        normal, total = self.normal, dict(self.normal._as_sum(address))
        start = int(total.pop((), 0)) + offset
        by_distance = [(abs(start - region.base), region) for region in regions if region.space == space]
        distance, region = min(by_distance, key=lambda pair: pair[0], default=(0, None))
        if region is None or 8 * region.cell != bits or distance > region.size:
            raise self._refused(instruction, address)
        start -= region.base
        if any(int(number) % region.cell for number in (start, *total.values())):
            raise self._refused(instruction, address)
        index = normal.terms.const(start // region.cell)
        for factors, number in total.items():
            term = normal.terms.const(int(number) // region.cell)
            for factor in factors:
                term = normal.multiply("s64", term, self._summed(factor))
            index = normal.add("s64", index, term)
        low, high = self._sum_range(index)
        if low < 0 or high >= region.cells:
            found = [factors for factors in normal._as_sum(index) if factors]
            if all(len(factors) == 1 and normal.terms.nodes[factors[0]][0] == "atom" for factors in found):
                what = f"element {low:g} to {high:g} of {region.name}, which has {region.cells}, by data"
                raise Broken(f"{instruction}: {what}, out of bounds")
            raise self._refused(instruction, address, f", whose index is from {low:g} to {high:g}")
        return region, index, range(int(low), int(high) + 1)

    def is_at(self, index: Term, place: int) -> Term:
        """Return whether an index is a place, with no number added to it."""
        normal = self.normal
        more = int(normal._as_sum(index).get((), 0))
        return normal.equal(
            "s32", normal.add("s64", index, normal.terms.const(-more)), normal.terms.const(place - more)
        )

    def _refused(self, instruction: Instruction, address: Term, more: str = "") -> NotInterpreted:
        shown = self.normal.terms.show(address)[:200]
        return NotInterpreted(f"{instruction}, an address that depends on data: {shown}{more}")

    def _range(self, term: Term) -> tuple[float, float]:
        """Return bounds of an integer term's value; infinite ones where nothing is known."""
        op, args = self.normal.terms.nodes[term]
        if op == "const":
            return args[0], args[0]
        if limit := self.normal.ranges.limit(term):
            return 0, limit - 1
        head, _, kind = op.partition(".")
        if head in ("min", "max") and kind[:1] in ("s", "u"):
            pick = min if head == "min" else max
            ranges = [self._within(kind, arg) for arg in args]
            return pick(low for low, _ in ranges), pick(high for _, high in ranges)
        if head == "sext":
            return self._within(kind, args[0])
        bound = self.normal.ranges.bound(term)
        return (0, (1 << bound) - 1) if bound <= 64 else (-inf, inf)

    def _within(self, kind: str, term: Term) -> tuple[float, float]:
        """Return the bounds of a term as a type reads it: all of the type's where it may wrap."""
        size = width(kind)
        most = (-(1 << size - 1), (1 << size - 1) - 1) if kind[0] == "s" else (0, (1 << size) - 1)
        low, high = self._sum_range(term)
        return (low, high) if most[0] <= low and high <= most[1] else most

    def _sum_range(self, term: Term) -> tuple[float, float]:
        low = high = 0.0
        for factors, number in self.normal._as_sum(term).items():
            ranges = [self._range(factor) for factor in factors]
            if any(inf in map(abs, each) for each in ranges):
                return -inf, inf
            bounds = sorted(int(number) * corner for corner in (min(_corners(ranges)), max(_corners(ranges))))
            low, high = low + bounds[0], high + bounds[1]
        return low, high

    def _summed(self, term: Term) -> Term:
        """Return a term with sums in place of what a compiler makes of them where bits do not meet: `8 * c | j`."""
        normal, ranges = self.normal, self.normal.ranges
        op, args = normal.terms.nodes[term]
        if op == "^":
            parts = sorted(map(self._summed, args), key=ranges.zeros)
            if all(ranges.bound(low) <= ranges.zeros(high) for low, high in pairwise(parts)):
                return normal.add("s64", *parts)
        if op == "&" and len(args) == 2 and any(map(normal.terms.is_const, args)):
            mask, rest = sorted(args, key=normal.terms.is_const, reverse=True)
            rest = self._summed(rest)
            bits = (1 << min(ranges.bound(rest), 64)) - (1 << min(ranges.zeros(rest), 64))
            if bits > 0 and int(normal.terms.nodes[mask][1][0]) & bits == bits:
                return rest
        return term


def _corners(ranges: list[tuple[float, float]]) -> list[float]:
    found = [1.0]
    for low, high in ranges:
        found = [a * b for a in found for b in (low, high)]
    return found
