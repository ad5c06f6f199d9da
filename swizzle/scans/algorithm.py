"""A scan algorithm for every size N that is a power: loops over a distance d, and in them steps of all elements i.

    for d in 1, 2, 4, ..., N / 2:
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i - d] . a[i]

Condition and source are expressions over i, d and N (`symbolic/expressions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.scans.network import IDLE, Ends, Network
from swizzle.scans.text import shown
from symbolic.expressions.expression import NAME, Expression, number_name

ELEMENT: Final = number_name("i")
DISTANCE: Final = number_name("d")
SIZE: Final = number_name("N")
Way = Literal["up", "down", "first", "last"]


class ScanStep(Struct, frozen=True):
    """A step of all elements: where the condition holds, element i takes the source."""

    when: Expression
    source: Expression


class ScanLoop(Struct, frozen=True):
    """Steps for each distance d: powers of the base from `base ** least` to `N / base ** most`, going up or down.

    A loop that is 'first' runs at the least distance only, whatever N is, one that is 'last' at the greatest.
    """

    way: Way
    base: int
    least: int
    most: int
    steps: tuple[ScanStep, ...]

    def distances(self, size: int) -> list[int]:
        """Return what d is, round by round."""
        whole = _exponent(size, self.base)
        exponents = range(self.least, whole - self.most + 1)
        if self.way == "first":
            exponents = range(self.least, min(self.least + 1, whole))
        elif self.way == "last":
            exponents = range(max(0, whole - self.most), whole - self.most + 1)
        found = [self.base**each for each in exponents]
        return found[::-1] if self.way == "down" else found

    @property
    def range(self) -> str:
        """The distances as a text."""
        base, first = self.base, self.base**self.least
        last = "N" if self.most == 0 else f"N / {base**self.most}"
        if self.way in ("first", "last"):
            return str(first) if self.way == "first" else last
        rising = f"{first}, {first * base}, {first * base**2}, ..., {last}"
        return rising if self.way == "up" else f"{last}, ..., {first * base**2}, {first * base}, {first}"


class Algorithm(Struct, frozen=True):
    """A scan for every power of the base, forward or backward."""

    loops: tuple[ScanLoop, ...]
    backward: bool = False

    @property
    def base(self) -> int:
        """Of which sizes are powers."""
        return self.loops[0].base

    def rounds(self, size: int) -> Iterator[tuple[ScanStep, int]]:
        """Yield the steps at a size in their order, with their distances."""
        for loop in self.loops:
            for distance in loop.distances(size):
                for step in loop.steps:
                    yield step, distance

    def network(self, size: int) -> Network | str:
        """Return the network at a size; or in words where a source is no element."""
        element, found = np.arange(size), []
        for step, distance in self.rounds(size):
            names = {"i": element, "d": distance, "N": size}
            on = np.broadcast_to(evaluate(step.when, names), (size,))
            sources = np.broadcast_to(evaluate(step.source, names), (size,))
            wrong = np.nonzero(on & ((sources < 0) | (sources >= size)))[0]
            if len(wrong):
                return f"at N = {size}, d = {distance}: element {wrong[0]} takes element {sources[wrong[0]]}"
            found.append(tuple(np.where(on, sources, IDLE).tolist()))
        return Network(size, found)

    def wrong(self, size: int) -> str:
        """Return why this is no scan at a size; empty where it is one."""
        reach: Ends
        element = np.arange(size)
        reach = element.copy()
        for step, distance in self.rounds(size):
            names = {"i": element, "d": distance, "N": size}
            on = np.broadcast_to(evaluate(step.when, names), (size,))
            sources = np.broadcast_to(evaluate(step.source, names), (size,))
            neighbour = reach + 1 if self.backward else reach - 1
            bad = np.nonzero(on & ((sources != neighbour) | (sources < 0) | (sources >= size)))[0]
            if len(bad):
                i = int(bad[0])
                taken, wanted = int(sources[i]), int(neighbour[i])
                if not 0 <= wanted < size:
                    why = "although it has everything already"
                else:
                    why = f"but what comes next to its own is what element {wanted} holds"
                return f"at N = {size}, d = {distance}: element {i} takes element {taken}, {why}"
            reach = np.where(on, reach[np.where(on, sources, 0)], reach)
        whole = size - 1 if self.backward else 0
        bad = np.nonzero(reach != whole)[0]
        return (
            f"at N = {size}: in the end element {bad[0]} reaches to x{reach[bad[0]]}, not to x{whole}"
            if len(bad)
            else ""
        )

    def __str__(self) -> str:
        """The algorithm as a text."""
        lines = []
        for loop in self.loops:
            looped = loop.way in ("up", "down")
            lines.append(f"for d in {loop.range}:" if looped else f"d = {loop.range}:")
            for step in loop.steps:
                taken = f"a[{shown(step.source)}]"
                lines.append(f"    if {shown(step.when)}:")
                lines.append(f"        a[i] = {f'a[i] . {taken}' if self.backward else f'{taken} . a[i]'}")
        return "\n".join(lines)


def sizes(base: int, most: int) -> list[int]:
    """Return the powers of a base up to a number."""
    found = [base]
    while found[-1] * base <= most:
        found.append(found[-1] * base)
    return found


def _exponent(size: int, base: int) -> int:
    found = 0
    while base**found < size:
        found += 1
    assert base**found == size, (size, base)
    return found


def evaluate(expression: Expression, names: Mapping[str, Any]) -> Any:
    """Return an expression's values where its names are numbers or NumPy arrays."""
    if expression.operator == NAME:
        return names[expression.value]
    if expression.constant:
        return expression.value
    arguments = [evaluate(each, names) for each in expression.arguments]
    return _MEANING[expression.operator](arguments)


def _folded(function: Any) -> Any:
    def fold(arguments: Sequence[Any]) -> Any:
        found = arguments[0]
        for each in arguments[1:]:
            found = function(found, each)
        return found

    return fold


Values = npt.NDArray[Any]
_MEANING: Final[Mapping[str, Any]] = {
    "+": _folded(np.add), "*": _folded(np.multiply), "%": _folded(np.remainder), "//": _folded(np.floor_divide),
    "&": _folded(np.bitwise_and), "|": _folded(np.bitwise_or), "^": _folded(np.bitwise_xor),
    "<<": _folded(np.left_shift), ">>": _folded(np.right_shift),
    "max": _folded(np.maximum), "min": _folded(np.minimum),
    "<": _folded(np.less), "<=": _folded(np.less_equal), "==": _folded(np.equal),
    "and": _folded(np.logical_and), "or": _folded(np.logical_or), "not": lambda a: np.logical_not(a[0]),
    "select": lambda a: np.where(a[0], a[1], a[2]),
}  # fmt: skip
