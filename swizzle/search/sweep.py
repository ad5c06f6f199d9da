"""One sketch at many sizes: what a hole became at some sizes is tried first at others.

A function's constants follow the sizes: `j // 29` where the holes are of 52 and 58 values, `j // 3` where they are of
12 and 9. A `SizeRule` says of each constant which quantities made of the holes' sizes it has been so far. It is a
guess: what it says at new sizes is judged like any other filling, and where it is wrong, the search goes on as without
it. So what a sweep finds may be another right filling than a search finds that knows no other size.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import gcd
from typing import TypeAlias

from msgspec import Struct

from symbolic.ir.program import Hole
from templates.chooser import Choice
from templates.template import Template

MOST_RULES = 4  # that are tried at a size
Quantities: TypeAlias = Mapping[str, int]
Divisions: TypeAlias = tuple[object, ...]  # how sizes divide each other


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


class Sweep:
    """The rules that functions followed, by how sizes divide each other; those that were right last come first."""

    def __init__(self) -> None:
        self._rules: dict[Divisions, list[SizeRule]] = {}

    def guesses(self, holes: Sequence[Hole], templates: Sequence[Template]) -> Iterator[tuple[int, Choice]]:
        """Yield holes, each with a function that it may become."""
        here = quantities(holes)
        for rule in self._rules.get(_sort(holes), ())[:MOST_RULES]:
            try:
                yield rule.hole, templates[rule.hole].parse(rule.at(here))
            except ValueError:  # no function of this size
                continue

    def learn(self, holes: Sequence[Hole], hole: int, constants: Mapping[str, int]) -> None:
        """Take in what a hole became in a right filling."""
        here, rules = quantities(holes), self._rules.setdefault(_sort(holes), [])
        says = {name: _named(here, value) for name, value in constants.items()}
        if not all(says.values()):
            return
        number = next((n for n, rule in enumerate(rules) if rule.joined(hole, constants, here)), None)
        rules.insert(0, SizeRule(hole, says) if number is None else rules.pop(number))


_SWEEP: ContextVar[Sweep | None] = ContextVar("_SWEEP", default=None)


def sweep_around() -> Sweep | None:
    """Return the sweep that a search is part of, if there is one."""
    return _SWEEP.get()


@contextmanager
def sweeping() -> Iterator[None]:
    """Solve sketches that differ by their sizes only: what one became is tried first for the next.

    What was there before is left out when memory is collected, which each of many small searches makes necessary.
    """
    token = _SWEEP.set(Sweep())
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        _SWEEP.reset(token)


def quantities(holes: Sequence[Hole]) -> Quantities:
    """Return numbers that holes' sizes make, by names: 0, 1, the sizes, what two have in common, and these less 1."""
    sizes = list(dict.fromkeys(hole.size for hole in holes))
    found = {"0": 0, "1": 1}
    found |= {f"s{n}": size for n, size in enumerate(sizes)}
    for (a, one), (b, other) in itertools.combinations(enumerate(sizes), 2):
        common = gcd(one, other)
        found |= {f"g{a},{b}": common, f"s{a} / g{a},{b}": one // common, f"s{b} / g{a},{b}": other // common}
    return found | {f"{name} - 1": value - 1 for name, value in found.items() if name not in ("0", "1")}


def _named(here: Quantities, value: int) -> frozenset[str]:
    return frozenset(name for name, each in here.items() if each == value)


def _sort(holes: Sequence[Hole]) -> Divisions:
    sizes = list(dict.fromkeys(hole.size for hole in holes))
    pairs = itertools.combinations(sizes, 2)
    return (*((a % b == 0, b % a == 0, gcd(a, b) == 1) for a, b in pairs), *(size < 3 for size in sizes))
