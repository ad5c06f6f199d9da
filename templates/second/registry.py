"""Which second description belongs to which hole, in which space: written apart from `templates/registry.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from symbolic.ir.program import Hole
from templates.second.cond import CondHole
from templates.second.either import EitherHole
from templates.second.groups import Description, Point
from templates.second.naive import NaiveHole
from templates.second.part import PartHole
from templates.second.xform import XformHole
from templates.second.xor import XorHole

POWERS = frozenset(2**exponent for exponent in range(1, 31))


def hole_of(
    hole: Hole, points: Sequence[Point], space: str, naive: Literal[0, 1, 2] = 0, deadline: float = math.inf
) -> Description:
    """Return what a hole may be in a space, with the naive template of a depth in place of the paper's.

    Raises `OutOfTime` where the naive template's expressions are too many to be written down by the deadline.
    """
    match hole.kind:
        case "xform" if naive:
            return NaiveHole(hole, points, naive, deadline)
        case "xform":
            parts: list[Description] = [XformHole(hole.size, points, space)]
            if space == "4" and hole.size in POWERS and all(k >= 0 for _, *shift in points for k in shift):
                parts.append(XorHole(hole.size, points))
            return parts[0] if len(parts) == 1 else EitherHole(parts)
        case "cond":
            return CondHole(len(hole.arguments), points, space)
        case "part":
            return PartHole(hole.size, len(hole.arguments), points, space)
    raise AssertionError(f"no second description of {hole.kind}")
