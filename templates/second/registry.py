"""Which second description belongs to which hole, in which space: written apart from `templates/registry.py`.

The second description of a hole that becomes a function of one of several families.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from symbolic.errors import users_code
from symbolic.ir.program import Hole
from symbolic.second.formulas import Cases, both, some_of
from symbolic.second.forward import NotCovered
from templates.second.cond import CondHole, PartHole, RemainderHole, ScaledHole, both_of
from templates.second.groups import Description, OneOf, Point
from templates.second.index import PadHole, tables_of
from templates.second.xform import NaiveHole, XformHole, XorHole


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
