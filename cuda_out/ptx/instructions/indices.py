"""Index values of all blocks at once: polynomials in the numbers of blocks and in what lengths have beyond a block.

A register of n bits holds a polynomial modulo 2^n, so sums and products are exact whatever the variables are. What
reads it as a number (a comparison, a wider type) needs its bounds: where they leave the type, nothing is said. Thus a
product of 32 bits that would wrap at a huge block is not taken for one that does not. A comparison that is not decided
is a predicate of its own, which may be joined with one that makes it irrelevant.

There are cases, each of which fixes some variables (how much is left for a block) and bounds others. An instruction is
first evaluated for all cases together, and for one of them only where that says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from cuda_out.ptx.columns import INDEX
from cuda_out.ptx.instructions.polynomials import Factors, Polynomial, plus, show, signed
from cuda_out.ptx.kinds import is_float, width
from cuda_out.ptx.syntax import NotInterpreted

Value: TypeAlias = tuple[int, int]
"""Bits and 0, or 0 and the number of a polynomial that is no constant."""


class Total(Struct, frozen=True):
    """What is known of two variables together: `low <= times * first + second <= high`; a `second` of '' is 0."""

    first: str
    second: str
    times: int
    low: int
    high: int | None

    def between(self, a: int, b: int, most: Mapping[str, int]) -> tuple[int, int]:
        """Return numbers between which a * first + b * second lies: its values at the corners of what is known."""
        times, last = self.times, most.get(self.second, 0)  # the first variable is counted in parts, `times` in one
        width = times * most[self.first]
        edges = [edge for edge in (self.low, self.high) if edge is not None]
        corners = [(0, 0), (0, last), (width, 0), (width, last)]
        corners += [(edge - y, y) for edge in edges for y in (0, last)] + [
            (x, edge - x) for edge in edges for x in (0, width)
        ]
        values = [
            a * x + b * times * y
            for x, y in corners
            if 0 <= x <= width and 0 <= y <= last and self.low <= x + y and (self.high is None or x + y <= self.high)
        ]
        assert values, "a remainder that some length has"
        return min(values) // times, -(-max(values) // times)


class _Operation(Protocol):
    """What is evaluated: an instruction, with a rule for polynomials (`cuda_out.ptx.instructions.operation`)."""

    name: str
    sources: tuple[str, ...]
    result: str

    def index(self, table: Indices, v: list[Polynomial], row: Sequence[Value]) -> Value: ...


def not_of_blocks(name: str) -> NotInterpreted:
    return NotInterpreted(f"{name} of a block's number")


class Case(Struct, frozen=True):
    """What is known in one case: the values of some variables, and what others are together."""

    fixed: Mapping[str, int] = {}
    totals: tuple[Total, ...] = ()


class Indices:
    """A table of polynomials; `most` is the largest value of each variable in all of the cases."""

    def __init__(self, most: Mapping[str, int], cases: Sequence[Case] = (Case(),)) -> None:
        self.most, self.cases = dict(most), cases
        self._together: tuple[Total, ...] = ()
        self._of_all = False
        self._table: list[Polynomial] = []
        self._variables: list[frozenset[str]] = []
        self._numbers: dict[frozenset[tuple[Factors, int]], int] = {}
        self._known: dict[tuple[str, str, tuple[Value, ...], tuple[Total, ...] | None], Value | None] = {}
        self._settled: dict[tuple[int, tuple[int | None, ...]], Value] = {}
        self._alike: dict[frozenset[str], list[int]] = {}
        self._fixed = frozenset(name for case in cases for name in case.fixed)
        self._bounded = frozenset(name for case in cases for each in case.totals for name in (each.first, each.second))

    def polynomial(self, value: Value, size: int = 64) -> Polynomial:
        """Return what a register holds, modulo 2^size."""
        bits, number = value
        if number:
            return _modulo(self._table[number - INDEX], size)
        return {(): signed(bits, size)} if signed(bits, size) else {}

    def value(self, found: Polynomial, size: int = 64) -> Value:
        """Return a polynomial as a register of some bits holds it."""
        found = _modulo(found, size)
        if not any(found):
            return found.get((), 0) & (1 << size) - 1, 0
        key = frozenset(found.items())
        if key not in self._numbers:
            self._numbers[key] = INDEX + len(self._table)
            self._table.append(found)
            self._variables.append(frozenset(name for monomial in found for name in monomial))
        return 0, self._numbers[key]

    def variables(self, row: Sequence[Value]) -> frozenset[str]:
        """Return the variables of some registers of which a case says something."""
        found = [self._variables[number - INDEX] for _, number in row if number >= INDEX]
        return frozenset().union(*found) & (self._fixed | self._bounded)

    def alike(self, variables: frozenset[str]) -> list[int]:
        """Return for each case the first one that says the same of some variables."""
        if variables not in self._alike:
            first: dict[object, int] = {}
            names, bounded = sorted(variables), bool(variables & self._bounded)
            said = [(tuple(map(each.fixed.get, names)), each.totals if bounded else ()) for each in self.cases]
            self._alike[variables] = [first.setdefault(each, number) for number, each in enumerate(said)]
        return self._alike[variables]

    def settled(self, value: Value, case: int) -> Value:
        """Return what a register holds in one case."""
        names = self._variables[value[1] - INDEX] & self._fixed if value[1] >= INDEX else None
        if not names:
            return value
        fixed = self.cases[case].fixed
        key = value[1], tuple(fixed.get(name) for name in sorted(names))
        if key not in self._settled:
            self._settled[key] = self.value(at_case(self._table[value[1] - INDEX], fixed))
        return self._settled[key]

    def bounds(self, found: Polynomial) -> tuple[int, int]:
        """Return numbers that a polynomial lies between, whatever its variables are."""
        low = high = 0
        rest = dict(found)
        for total in self._together:
            a, b = rest.pop((total.first,), 0), rest.pop((total.second,), 0)
            if a or b:
                least, greatest = total.between(a, b, self.most)
                low, high = low + least, high + greatest
        for monomial, coefficient in rest.items():
            most = 1
            for name in monomial:
                most *= self.most[name]
            if not monomial:
                low, high = low + coefficient, high + coefficient
            elif coefficient < 0:
                low += coefficient * most
            else:
                high += coefficient * most
        return low, high

    def integer(self, found: Polynomial, kind: str) -> Polynomial:
        """Return the integer that a type reads in a register; raise NotInterpreted where that may wrap."""
        size, (low, high) = width(kind), self.bounds(found)
        least = -(1 << size - 1) if kind[0] == "s" else 0
        turns = -((low - least) >> size)
        if high + (turns << size) >= least + (1 << size):
            raise NotInterpreted(f"{show(found)}, which may leave {kind}")
        return plus(found, {(): turns << size})

    def wider(self, found: Polynomial, kind: str) -> Polynomial:
        """Return the integer that a type reads in a register, with a variable for how often it wraps where it may.

        The variable is gone again where only as many low bits are read as the type has: compilers compute
        `int(n - begin)` by way of the low bits of `begin`.
        """
        try:
            return self.integer(found, kind)
        except NotInterpreted:
            size, (low, high) = width(kind), self.bounds(found)
            least = -(1 << size - 1) if kind[0] == "s" else 0
            fewest, most = (low - least) >> size, (high - least) >> size
            # Of other bounds it is another variable: found - 2^size * turns, where turns is `most` less what it says.
            wraps = self.new(f"wraps of {show(found)} as {kind}, of {most}", most - fewest)
            return plus(plus(found, {(): -most << size}), wraps, 1 << size)

    def floored(self, found: Polynomial, by: int) -> Polynomial:
        """Return a polynomial shifted right, where that is one."""
        if any(coefficient % (1 << by) for monomial, coefficient in found.items() if monomial):
            raise NotInterpreted(f"{show(found)} shifted right by {by}")
        return {monomial: coefficient >> by for monomial, coefficient in found.items() if coefficient >> by}

    def new(self, name: str, most: int) -> Polynomial:
        """Return a variable of which nothing but its largest value is known, in the case that is looked at."""
        if self._of_all:
            raise NotInterpreted(name)
        self.most[name] = max(self.most.get(name, 0), most)
        return {(name,): 1}

    def evaluate(self, operation: _Operation, row: Sequence[Value], case: int = 0) -> Value:
        """Return what an instruction gives for numbers and polynomials in one of the cases; raise NotInterpreted where
        nobody knows."""
        row, together = tuple(self.settled(value, case) for value in row), self.cases[case].totals
        key = operation.name, operation.result, row, together
        found = self._known.get(key)
        if found is None:
            self._together = together
            found = self._known[key] = self._evaluate(operation, row)
        return found

    def of_all(self, operation: _Operation, row: Sequence[Value]) -> Value | None:
        """Return what an instruction gives in all cases, None where that is not one value."""
        key = operation.name, operation.result, tuple(row), None
        if key not in self._known:
            self._together, self._of_all = (), True
            try:
                found = self._evaluate(operation, row)
                self._known[key] = None if operation.result == "pred" and found[1] else found
            except NotInterpreted:
                self._known[key] = None
            finally:
                self._of_all = False
        return self._known[key]

    def _evaluate(self, operation: _Operation, row: Sequence[Value]) -> Value:
        if any(map(is_float, (operation.result, *operation.sources))):
            raise not_of_blocks(operation.name)
        read = zip(row, operation.sources, strict=True)
        return operation.index(self, [self.polynomial(value, max(width(kind), 8)) for value, kind in read], row)

    # -- what rows ask -----------------------------------------------------------------------------------------

    def apart(self, a: Polynomial, b: Polynomial) -> tuple[int, int]:
        """Return bounds of a difference."""
        return self.bounds(plus(a, b, -1))

    def answer(self, compare: str, a: Polynomial, b: Polynomial) -> bool:
        """Return what a comparison says; raise NotInterpreted where that depends on the variables."""
        low, high = self.apart(a, b)
        answers = {
            "lt": (high < 0, low >= 0), "le": (high <= 0, low > 0), "gt": (low > 0, high <= 0),
            "ge": (low >= 0, high < 0), "eq": (low == high == 0, low > 0 or high < 0),
            "ne": (low > 0 or high < 0, low == high == 0),
        }  # fmt: skip
        yes, no = answers[compare]
        if not (yes or no):
            raise NotInterpreted(f"whether {show(a)} is {compare} {show(b)}")
        return yes

    def between(self, head: str, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return a minimum or maximum as a number of which the bounds are known."""
        pick = min if head == "min" else max
        (low, high), (other_low, other_high) = self.bounds(a), self.bounds(b)
        least, most = pick(low, other_low), pick(high, other_high)
        # Of other bounds it is another variable.
        found = self.new(f"{head} of {show(a)} and {show(b)}, from {least} to {most}", most - least)
        return plus({(): least}, found)

    def undecided(self, why: str) -> Value:
        """Return a predicate that nothing is known of; who is steered by it shows the reason."""
        return self.value({(f"undecided: {why}",): 1}, 8)

    def joined(self, decides: int, row: Sequence[Value]) -> Value:
        """Return two predicates joined, of which one at least is undecided: the other one may be what decides."""
        (a, open_a), (b, open_b) = row
        for bit, undecided in ((a, open_a), (b, open_b)):
            if not undecided and int(bit != 0) == decides:
                return decides, 0
        return 0, open_a or open_b

    def bitwise(self, head: str, size: int, v: Sequence[Polynomial], row: Sequence[Value]) -> Polynomial:
        """Bits of which one side is known, and which the other one's variables do not reach."""
        known = [place for place, (_, number) in enumerate(row) if not number]
        if len(known) != 1:
            raise NotInterpreted(f"{head} of the numbers of blocks")
        open_ = v[1 - known[0]]
        mask = row[known[0]][0] & (1 << size) - 1
        clear = min((c & -c for monomial, c in open_.items() if monomial), default=0)
        constant = open_.get((), 0)
        rest = {monomial: c for monomial, c in open_.items() if monomial}
        low = clear - 1
        if head == "and":
            if mask & ~low == 0:  # bits below the variables'
                return {(): constant & mask}
            if mask | low == (1 << size) - 1:  # all bits of the variables'
                return plus(plus(rest, {(): constant & ~low}), {(): constant & low & mask})
            if mask & mask + 1 == 0 and self.bounds(self.integer(open_, f"u{size}"))[1] <= mask:
                return open_
        elif mask & ~low == 0:
            joined = constant & low | mask if head == "or" else constant & low ^ mask
            return plus(plus(rest, {(): constant & ~low}), {(): joined})
        raise NotInterpreted(f"{head} of {show(open_)}")


def at_case(found: Polynomial, fixed: Mapping[str, int]) -> Polynomial:
    """Return a polynomial with numbers in the place of some variables."""
    if not fixed:
        return found
    total: Polynomial = {}
    for monomial, coefficient in found.items():
        for name in monomial:
            coefficient *= fixed.get(name, 1)
        rest = tuple(name for name in monomial if name not in fixed)
        total[rest] = total.get(rest, 0) + coefficient
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def _modulo(found: Polynomial, size: int) -> Polynomial:
    reduced = {monomial: signed(coefficient, size) for monomial, coefficient in found.items()}
    return {monomial: coefficient for monomial, coefficient in reduced.items() if coefficient}
