"""A scan algorithm for every size N that is a power: loops over a distance d, and in them steps of all elements i.

    for d in 1, 2, 4, ..., N / 2:
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i - d] . a[i]

Condition and source are expressions over i, d and N (`symbolic/expressions`). A step may have several conditions, and
an element does what the first one says that holds: it takes another one's words beside its own or instead of them, or
is left with none.

Comparisons and sources as texts that read the same in Python and in C: bits and comparisons in parentheses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

import numpy as np
from msgspec import Struct

from swizzle.scans.network import IDLE, Ends, HeldRanges, Mask, Network
from symbolic.expressions.columns import on_columns
from symbolic.expressions.expression import ONE, ZERO, Expression, number_name, terms

_ATOM, _PRODUCT, _SUM, _COMPARE, _AND, _OR = 5, 4, 3, 2, 1, 0
_TURNED: Final[Mapping[str, str]] = {"<": ">", "<=": ">=", "==": "==", "!=": "!="}


def shown(expression: Expression) -> str:
    """Return an expression over whole numbers as a text, with `i` on the left of a comparison where there is one.

    >>> from symbolic.expressions.expression import ZERO, bits, equal, less_equal, negation, number_name
    >>> i, d = number_name("i"), number_name("d")
    >>> shown(less_equal(d, i)), shown(negation(equal(bits("&", d, i), ZERO)))
    ('i >= d', '(i & d) != 0')
    """
    return _text(expression)[0]


def _inner(node: Expression, least: int) -> str:
    text, level = _text(node)
    return text if level >= least else f"({text})"


def _text(node: Expression) -> tuple[str, int]:
    match node.operator:
        case "constant":
            return str(node.value), _ATOM if node.truth or node.value >= 0 else _SUM
        case "name":
            return str(node.value), _ATOM
        case "+":
            return _sum(node), _SUM
        case "max" | "min":
            return f"{node.operator}({', '.join(shown(each) for each in node.arguments)})", _ATOM
        case "and" | "or":
            level = _AND if node.operator == "and" else _OR
            ordered = sorted(node.arguments, key=lambda each: (each.size, shown(each).lstrip("(")))
            return f" {node.operator} ".join(_inner(each, level + 1) for each in ordered), level
        case "not" if node.arguments[0].operator == "==":
            return _compared("!=", *node.arguments[0].arguments)
        case "not":
            return f"not ({shown(node.arguments[0])})", _AND
        case "<" | "<=" | "==":
            return _compared(node.operator, *node.arguments)
        case "select":
            condition, yes, no = (shown(each) for each in node.arguments)
            return f"{yes} if {condition} else {no}", -1
        case "*" if node.arguments[0].constant and node.arguments[0].value == -1:
            return f"-{_inner(node.arguments[1], _ATOM)}", _SUM
        case "*":
            ordered = sorted(node.arguments, key=lambda each: (not each.constant, _rank(each)))
            return " * ".join(_inner(each, _ATOM) for each in ordered), _PRODUCT
    a, b = node.arguments
    if node.operator in "&|^" and _rank(b) < _rank(a):
        a, b = b, a
    least = _PRODUCT if node.operator == "%" and a.operator not in "%*" else _ATOM
    text = f"{_inner(a, least)} {node.operator} {_inner(b, _ATOM)}"
    return text, _PRODUCT if node.operator in ("%", "//") else _OR - 1


def _rank(node: Expression) -> tuple[bool, bool, int, str]:
    """Return a key by which what is about `i` comes first, and numbers last; no two are alike."""
    return "i" not in node.names, node.constant, node.size, shown(node)


def _compared(operator: str, a: Expression, b: Expression) -> tuple[str, int]:
    if _rank(b) < _rank(a):
        a, b, operator = b, a, _TURNED[operator]
    return f"{_inner(a, _SUM)} {operator} {_inner(b, _SUM)}", _COMPARE


def _sum(node: Expression) -> str:
    found = ""
    for coefficient, what in sorted(terms(node), key=lambda term: (term[0] < 0, term[1] is ONE, _rank(term[1]))):
        size = abs(coefficient)
        least = _PRODUCT if size == 1 or what.operator == "*" else _ATOM
        shown_term = str(size) if what is ONE else _inner(what, least)
        if what is not ONE and size != 1:
            shown_term = f"{size} * {shown_term}"
        found += (
            (" - " if coefficient < 0 else " + ") + shown_term
            if found
            else ("-" if coefficient < 0 else "") + shown_term
        )
    return found


ELEMENT: Final = number_name("i")
DISTANCE: Final = number_name("d")
SIZE: Final = number_name("N")
Way = Literal["up", "down", "first", "last"]


How = Literal["before", "behind", "instead", "nothing"]
"""Where what is taken goes: before one's own words, behind them, in their place; or nothing is taken in their place."""


class ScanStep(Struct, frozen=True):
    """A step of all elements: where the condition holds, element i takes the source, elsewhere it does `otherwise`."""

    when: Expression
    source: Expression
    how: How = "before"
    otherwise: ScanStep | None = None

    @property
    def moves(self) -> Iterator[ScanStep]:
        """This, and what is done otherwise."""
        yield self
        if self.otherwise is not None:
            yield from self.otherwise.moves

    def at(self, size: int, distance: int) -> MovedElements:
        """Return what every element does."""
        names = {"i": np.arange(size), "d": distance, "N": size}
        left, sources = np.ones(size, bool), np.full(size, IDLE)
        taking, gone, behind = ~left, ~left, ~left
        for move in self.moves:
            on = left & on_columns(move.when, names)
            if move.how != "nothing":
                sources, taking = np.where(on, on_columns(move.source, names), sources), taking | on
            gone = gone | (on & (move.how in ("instead", "nothing")))
            behind = behind | (on & (move.how == "behind"))
            left = left & ~on
        return MovedElements(sources, taking, gone, behind)


class MovedElements(NamedTuple):
    """For each element the one that it takes, whether it takes one, drops its own words, has others behind its own."""

    sources: Ends
    taking: Mask
    gone: Mask
    behind: Mask

    @property
    def nowhere(self) -> Ends:
        """The elements that take one that does not exist."""
        return np.nonzero(self.taking & ((self.sources < 0) | (self.sources >= len(self.sources))))[0]


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
    """A scan for every power of the base, forward or backward, of each element's own or of those before it."""

    loops: tuple[ScanLoop, ...]
    backward: bool = False
    exclusive: bool = False

    @property
    def base(self) -> int:
        """Of which sizes are powers."""
        return self.loops[0].base

    @property
    def in_place(self) -> bool:
        """Whether no element drops its words, and all take what comes next to them on one side."""
        way = "behind" if self.backward else "before"
        steps = [step for loop in self.loops for step in loop.steps]
        return not self.exclusive and all(step.how == way and step.otherwise is None for step in steps)

    @property
    def nothing(self) -> Expression:
        """Before which element there is what an emptied one holds, at either end of the input."""
        return SIZE if self.backward else ZERO

    def rounds(self, size: int) -> Iterator[tuple[ScanStep, int]]:
        """Yield the steps at a size in their order, with their distances."""
        for loop in self.loops:
            for distance in loop.distances(size):
                for step in loop.steps:
                    yield step, distance

    def network(self, size: int) -> Network | str:
        """Return the network at a size; or in words where a source is no element."""
        steps, dropped = [], []
        for step, distance in self.rounds(size):
            moved = step.at(size, distance)
            if len(moved.nowhere):
                i = moved.nowhere[0]
                return f"at N = {size}, d = {distance}: element {i} takes element {moved.sources[i]}"
            steps.append(tuple(moved.sources.tolist()))
            dropped.append(frozenset(np.nonzero(moved.gone)[0].tolist()))
        return Network(size, steps, dropped)

    def wrong(self, size: int) -> str:
        """Return why this is no scan at a size; empty where it is one."""
        if not self.in_place:
            return self._wrong_of_ranges(size)
        element = np.arange(size)
        reach: Ends = element
        for step, distance in self.rounds(size):
            names = {"i": element, "d": distance, "N": size}
            on = np.broadcast_to(on_columns(step.when, names), (size,))
            sources = np.broadcast_to(on_columns(step.source, names), (size,))
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

    def held(self, size: int) -> Iterator[HeldRanges | str]:
        """Yield what elements hold before each step, and in the end; or last in words what goes wrong."""
        held = HeldRanges.start(size)
        for step, distance in self.rounds(size):
            yield held
            moved, where = step.at(size, distance), f"at N = {size}, d = {distance}"
            if len(moved.nowhere):
                i = moved.nowhere[0]
                yield f"{where}: element {i} takes element {moved.sources[i]}, which does not exist"
                return
            after, before, behind = held.step(moved.sources, moved.gone, size if self.backward else 0)
            bad = np.nonzero(~np.where(moved.behind, behind, before))[0]
            if len(bad):
                i = int(bad[0])
                source, side = int(moved.sources[i]), "behind" if moved.behind[i] else "before"
                taken = f"what element {source} holds, {held.said(source)}"
                yield f"{where}: element {i} puts {taken}, {side} {held.said(i)} of its own"
                return
            held = after
        yield held

    def _wrong_of_ranges(self, size: int) -> str:
        *_, held = self.held(size)
        if isinstance(held, str):
            return held
        whole = HeldRanges.whole(size, backward=self.backward, exclusive=self.exclusive)
        bad = held.unlike(whole)
        if not len(bad):
            return ""
        i = int(bad[0])
        return f"at N = {size}: in the end element {i} holds {held.said(i)}, not {whole.said(i)}"

    def __str__(self) -> str:
        """The algorithm as a text."""
        lines = []
        for loop in self.loops:
            looped = loop.way in ("up", "down")
            lines.append(f"for d in {loop.range}:" if looped else f"d = {loop.range}:")
            for step in loop.steps:
                for number, move in enumerate(step.moves):
                    lines.append(f"    {branch(number, shown(move.when))}:")
                    lines.append(f"        a[i] = {_SHOWN[move.how].format(shown(move.source))}")
        return "\n".join(lines)


_SHOWN: Final[Mapping[How, str]] = {
    "before": "a[{}] . a[i]", "behind": "a[i] . a[{}]", "instead": "a[{}]", "nothing": "the identity",
}  # fmt: skip


def branch(number: int, condition: str) -> str:
    """Return what stands before the colon of one of several conditions, the first of which that holds counts."""
    return "else" if number and condition == "True" else f"{'elif' if number else 'if'} {condition}"


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
