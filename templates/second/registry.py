"""Which second description belongs to which hole, in which space: written apart from `templates/registry.py`.

Of `?sw_index` it describes free elements after every stretch, and tables, whose entries are any numbers below n.

An entry is found by an argument or by both, and says the value, or how far it is from the index: by a sum modulo n, or,
for n a power of two, by exclusive or. A table has up to 64 bytes, in words that have 1, 2, 4, ... entries, which have
up to 8192 values all together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from symbolic.errors import users_code
from symbolic.ir.program import Hole
from symbolic.second.formulas import Cases, both, some_of
from symbolic.second.forward import NotCovered
from templates.second.cond import CondHole, PartHole, RemainderHole, ScaledHole, both_of
from templates.second.groups import Description, OneOf, Point
from templates.second.xform import NaiveHole, XformHole, XorHole


class PadHole:
    """All stretches that divide the number of cells, or are powers of two, as far as all places are below n."""

    def __init__(self, n: int, points: Sequence[Point]) -> None:
        cells = 1 + max(point[0] for point in points)
        powers = {1 << bit for bit in range(cells.bit_length())}
        rows = [(1, 0)]
        for every in range(1, cells):
            if every in powers or cells % every == 0:
                rows += [(every, by) for by in range(1, 33) if (cells - 1) // every * by + cells <= n]
        self.groups = [OneOf(rows)]

    def at(self, point: Point) -> Cases:
        return self.groups[0].cases([point[0] + by * (point[0] // every) for every, by in self.groups[0].rows])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        every, by = self.groups[0].chosen(model)
        return lambda arguments: arguments[0] + by * (arguments[0] // every)


BYTES = 64
CHOICES = 8192


class TableHole:
    """A table that is looked up by some of the arguments; `moved(entry, i)` is what an entry says."""

    def __init__(self, n: int, points: Sequence[Point], by: Sequence[int], moved: Callable[[int, int], int]) -> None:
        self.by, self.moved = by, moved
        self.entries = {key: OneOf(range(n)) for key in sorted({self._key(point) for point in points})}
        self.groups = list(self.entries.values())

    def _key(self, point: Sequence[Any]) -> tuple[int, ...]:
        return tuple(int(point[number]) for number in self.by)

    def at(self, point: Point) -> Cases:
        group = self.entries[self._key(point)]
        return group.cases([self.moved(entry, point[0]) for entry in group.rows])

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        chosen = {key: group.chosen(model) for key, group in self.entries.items()}

        def value(*point: Any) -> int:
            return self.moved(chosen.get(self._key(point), 0), int(point[0]))

        return lambda arguments: np.vectorize(value, otypes=[np.int64])(*arguments)


def tables_of(n: int, points: Sequence[Point]) -> Iterator[TableHole]:
    """Yield the tables of each sort that is small enough."""
    if n < 2 or not points:
        return
    spans = [max(some) - min(some) + 1 for some in zip(*points, strict=True)]
    varied = [number for number, span in enumerate(spans) if span > 1]
    for by in [*([number] for number in varied), *([varied] if len(varied) > 1 else [])]:
        in_word, size = 1, 1
        while 2 * in_word * len(bin(n - 1)[2:]) <= 32:
            in_word *= 2
        for number in by:
            size *= spans[number]
        if (size + in_word - 1) // in_word * 4 > BYTES or size * n > CHOICES:
            continue
        yield TableHole(n, points, by, lambda entry, i: entry)
        if by == [1]:
            yield TableHole(n, points, by, lambda entry, i: (i + entry) % n)
            if bin(n).count("1") == 1:
                yield TableHole(n, points, by, lambda entry, i: i ^ entry)


class EitherHole:
    """One of these, chosen by a group of its own."""

    def __init__(self, parts: Sequence[Description]) -> None:
        self._which = OneOf(parts)
        self.groups = [self._which, *(group for part in parts for group in part.groups)]

    def at(self, point: Point) -> Cases:
        found: dict[Any, list[Any]] = {}
        for part, chosen in zip(self._which.rows, self._which.literals, strict=True):
            for value, when in part.at(point).items():
                found.setdefault(value, []).append(both(chosen, when))
        return {value: some_of(whens) for value, whens in found.items()}

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        found: Callable[[Sequence[Any]], Any] = self._which.chosen(model).filled(model)
        return found


POWERS = frozenset(2**exponent for exponent in range(1, 31))


class Family(Protocol):
    """What is asked of a user's family; `templates.template.TemplateFamily` has it."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def second(self) -> Callable[[int, int, tuple[Point, ...]], Any] | None: ...


def hole_of(
    hole: Hole,
    points: Sequence[Point],
    space: str,
    naive: Literal[0, 1, 2] = 0,
    deadline: float = math.inf,
    families: Sequence[Family] = (),
) -> Description:
    """Return what a hole may be in a space, with the naive template of a depth in place of the paper's.

    `families` are users' own. Raises `OutOfTime` where the naive template's expressions are too many to be written
    down by the deadline, and `NotCovered` for a family that is described once only.
    """
    arity = len(hole.arguments)
    parts: list[Description] = []
    match hole.kind:
        case "xform" if naive:
            return NaiveHole(hole, points, naive, deadline)
        case "xform":
            parts.append(XformHole(hole.size, points, space))
            if space == "4" and hole.size in POWERS and all(k >= 0 for _, *shift in points for k in shift):
                parts.append(XorHole(hole.size, points))
        case "index":
            for name in hole.families:
                if name in ("table", "constant_table") and space != "4":
                    continue
                parts += _of_family(name, hole.size, points)
            parts = parts or _of_family("rotate", hole.size, points)
        case "cond":
            parts.append(CondHole(arity, points, space))
            if space == "4" and arity and points:
                some = RemainderHole(arity, points), ScaledHole(arity, points), both_of(arity, points)
                parts += [part for part in some if part is not None and part.groups[0].rows]
        case "part":
            parts.append(PartHole(hole.size, arity, points, space))
        case _:
            raise AssertionError(f"no second description of {hole.kind}")
    for family in families if space == "4" else ():
        if family.kind == hole.kind:
            if family.second is None:
                parts += _of_family(family.name, hole.size, points)
                continue
            with users_code(f"`second` of the family {family.name}", family.second, "a description, or None"):
                described = family.second(hole.size, arity, tuple(points))
            parts += [] if described is None else [described]
    return parts[0] if len(parts) == 1 else EitherHole(parts)


def _of_family(name: str, n: int, points: Sequence[Point]) -> list[Description]:
    """Return what a hole may be in a family of the language: none where the family has nothing for it."""
    match name:
        case "xform" | "rotate":
            return [XformHole(n, points, "3", rotations=name == "rotate")]
        case "xor":
            fits = n in POWERS and all(k >= 0 for _, *shift in points for k in shift)
            return [XorHole(n, points)] if fits else []
        case "pad":
            return [PadHole(n, points)] if points and max(point[0] for point in points) < n else []
        case "table":
            return list(tables_of(n, points))
        case "column_major" if not any(k > 0 for _, *shift in points for k in shift):
            return []
        case "compose" if n > 64:
            return []
    raise NotCovered(f"the family {name}, which has no second description,")
