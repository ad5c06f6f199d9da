"""One sketch at many sizes: what a hole became at some sizes is tried first at others.

A function's constants follow the sizes, and so do those of its formula: `j // 29` where the holes are of 52 and 58
values, `j // 3` where they are of 12 and 9. A `SizeRule` says of each constant which quantities made of the holes'
sizes it has been so far. It is a guess: what it says at new sizes is judged like any other filling, and where it is
wrong, the search goes on as without it. So what a sweep finds may be another right filling than a search finds that
knows no other size, and a formula that was the shortest elsewhere is taken here, although there may be a shorter one.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import gcd
from typing import TypeAlias

from msgspec import Struct

from swizzle.solving.search import sweep as search_sweep
from symbolic.errors import Place
from symbolic.ir.program import Const, Expr, Hole
from symbolic.ir.walk import children, with_children
from templates.chooser import Choice
from templates.formula import length_of, number
from templates.shortest import Shortest
from templates.template import PointTable, Template

MOST_RULES = 4  # that are tried at a size
COLLECTED = 20_000, 3, 5  # how often memory is collected, as `gc.set_threshold` has it
_NOWHERE = Place("", 0, 0)
Quantities: TypeAlias = Mapping[str, int]
Divisions: TypeAlias = tuple[object, ...]  # how sizes divide each other, and of which holes they are


class SizeRule(Struct):
    """A hole, and of each constant of its function the names of what it was equal to at all sizes so far."""

    hole: int
    says: dict[str, frozenset[str]]

    def at(self, here: Quantities) -> dict[str, int]:
        """Return the constants at some sizes."""
        return {name: next(value for each, value in here.items() if each in some) for name, some in self.says.items()}

    def joined(self, hole: int, constants: Mapping[str, int], here: Quantities) -> bool:
        """Say whether a function follows the rule; if so, the rule says what is true of both."""
        if hole != self.hole or constants.keys() != self.says.keys():
            return False
        says = {name: some & _named(here, constants[name]) for name, some in self.says.items()}
        if not all(says.values()):
            return False
        self.says = says
        return True


class SizeSweep:
    """The rules that functions followed, by how sizes divide each other; those that were right last come first."""

    def __init__(self) -> None:
        self._rules: dict[Divisions, list[SizeRule]] = {}
        self._recognised: dict[tuple[int, Divisions], list[SizeRule]] = {}
        self._formulas: dict[tuple[int, Divisions], dict[Expr, SizeRule]] = {}  # by formulas with 0 for each number

    def guesses(self, holes: Sequence[Hole], templates: Sequence[Template]) -> Iterator[tuple[int, Choice]]:
        """Yield holes, each with a function that it may become."""
        here = quantities(holes)
        for rule in self._rules.get(_divisions(holes), ())[:MOST_RULES]:
            try:
                yield rule.hole, templates[rule.hole].parse(rule.at(here))
            except ValueError:  # no function of this size
                continue

    def learn(self, holes: Sequence[Hole], hole: int, constants: Mapping[str, int]) -> None:
        """Take in what a hole became in a right filling."""
        _take_in(self._rules.setdefault(_divisions(holes), []), hole, constants, quantities(holes))

    def recognised(
        self, holes: Sequence[Hole], hole: int, template: Template, points: PointTable, values: PointTable
    ) -> Choice | None:
        """Return a function that has these values at points, -1 where they are free: one that is known from other
        sizes, or else what its template sees at a glance."""
        here, rules = quantities(holes), self._recognised.setdefault((hole, _divisions(holes)), [])
        for rule in rules[:MOST_RULES]:
            try:
                guess = template.parse(rule.at(here))
            except ValueError:
                continue
            if ((template.tables([guess], list(points.T))[0] == values) | (values < 0)).all():
                return guess
        found = template.recognised(points, values)
        if found is not None:
            _take_in(rules, hole, template.constants(found), here)
        return found

    def formula(self, holes: Sequence[Hole], hole: int, shortest: Shortest, own: Expr, values: PointTable) -> Expr:
        """Return a formula with these values at a hole's points: one known from other sizes, or else the shortest.

        `own` is one that has them. It is returned where no formula is shorter.
        """
        here, rules = quantities(holes), self._formulas.setdefault((hole, _divisions(holes)), {})
        for shape, rule in itertools.islice(reversed(rules.items()), MOST_RULES):
            guess = _with_numbers(shape, iter(rule.at(here).values()))
            if length_of(guess) <= length_of(own) and shortest.has(guess, values):
                return guess
        found = shortest.of(own, values)
        numbers = {str(n): number for n, number in enumerate(_numbers(found))}
        shape = _with_numbers(found, itertools.repeat(0))
        known = rules.pop(shape, None)
        if known is None or not known.joined(hole, numbers, here):
            known = SizeRule(hole, {name: _named(here, number) for name, number in numbers.items()})
        if all(known.says.values()):
            rules[shape] = known
        return found


@contextmanager
def sweeping() -> Iterator[SizeSweep]:
    """Solve sketches that differ by their sizes only: what one became is tried first for the next.

    What was there before is left out when memory is collected, and that is done after every few of many small searches.
    """
    sweep, often = SizeSweep(), gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTED)
    try:
        with search_sweep.sweeping(sweep):
            yield sweep
    finally:
        gc.set_threshold(*often)
        gc.unfreeze()


def quantities(holes: Sequence[Hole]) -> Quantities:
    """Return numbers that holes' sizes make, by names: 0, 1, the sizes, what two have in common, these less 1; and
    what one is modulo another one, its inverse there, and how much each of these is below the modulus."""
    return _quantities(tuple(dict.fromkeys(hole.size for hole in holes)))


@lru_cache(maxsize=8)
def _quantities(sizes: tuple[int, ...]) -> Quantities:
    found = {"0": 0, "1": 1}
    found |= {f"s{n}": size for n, size in enumerate(sizes)}
    for (a, one), (b, other) in itertools.combinations(enumerate(sizes), 2):
        common = gcd(one, other)
        found |= {f"g{a},{b}": common, f"s{a} / g{a},{b}": one // common, f"s{b} / g{a},{b}": other // common}
    found |= {f"{name} - 1": value - 1 for name, value in found.items() if name not in ("0", "1")}
    for (a, one), (b, other) in itertools.permutations(enumerate(sizes), 2):
        modulus = other // gcd(one, other)
        inverse = pow(one // gcd(one, other), -1, modulus) if modulus > 1 else 0
        found |= {f"s{a} % s{b}": one % other, f"-s{a} % s{b}": -one % other}
        found |= {f"1 / s{a} % s{b}": inverse, f"-1 / s{a} % s{b}": -inverse % modulus}
    return found


def _numbers(formula: Expr) -> Iterator[int]:
    """Yield the numbers in a formula, from left to right."""
    if isinstance(formula, Const):
        yield int(formula.value)
    for part in children(formula):
        yield from _numbers(part)


def _with_numbers(formula: Expr, numbers: Iterator[int]) -> Expr:
    """Return a formula with other numbers in the places of its own, from left to right."""
    if isinstance(formula, Const):
        return number(next(numbers), _NOWHERE)
    parts = children(formula)
    return with_children(formula, tuple(_with_numbers(part, numbers) for part in parts)) if parts else formula


def _take_in(rules: list[SizeRule], hole: int, constants: Mapping[str, int], here: Quantities) -> None:
    """Let rules say what a function's constants are, the rule that does it first."""
    says = {name: _named(here, value) for name, value in constants.items()}
    if all(says.values()):
        number = next((n for n, rule in enumerate(rules) if rule.joined(hole, constants, here)), None)
        rules.insert(0, SizeRule(hole, says) if number is None else rules.pop(number))


def _named(here: Quantities, value: int) -> frozenset[str]:
    return frozenset(name for name, each in here.items() if each == value)


def _divisions(holes: Sequence[Hole]) -> Divisions:
    """Return how sizes divide each other, and which holes there are: a rule says nothing of another sketch's holes."""
    sizes = list(dict.fromkeys(hole.size for hole in holes))
    pairs = itertools.combinations(sizes, 2)
    divisions = (*((a % b == 0, b % a == 0, gcd(a, b) == 1) for a, b in pairs), *(size < 3 for size in sizes))
    return *divisions, tuple((hole.kind, sizes.index(hole.size), hole.arguments) for hole in holes)
