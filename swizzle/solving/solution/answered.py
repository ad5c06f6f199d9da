"""A solved sketch, run with its chosen functions: at which points each hole is asked, and what it gives there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.language.specs.verify import run_canonical
from swizzle.solving.solution.filling import formula_again
from swizzle.solving.solution.hole_values import HoleValues
from swizzle.solving.solution.solution import Solution
from symbolic.algebra.terms import Terms
from symbolic.ir.program import DType, Hole
from symbolic.values.vector import Vector
from templates.formula import formula_of_text, values_of
from templates.holes import HOME, SCAN_KINDS, kind_of
from templates.registry import FilledHole


class WrittenHole(Struct, frozen=True):
    """A filled hole whose formula is all there is of it: one of a scan, or found in another sketch."""

    hole: Hole
    formula: str

    def apply(self, lanes: Sequence[npt.NDArray[np.int64]]) -> Any:
        """Return what it gives at arrays of arguments."""
        return values_of(formula_of_text(self.hole, self.formula), lanes)

    def words(self) -> str:
        """Return what the hole does, in words."""
        verb = {"when": "take where", "from": "take element", "place": "keep at"}.get(self.hole.kind, "compute")
        return f"{verb} {self.formula}"


def fillings_of(solution: Solution) -> list[FilledHole | WrittenHole]:
    """Return what each hole of a solved sketch became, ready to be applied."""
    if solution.sketch is None:
        return []
    functions = [hole for hole in solution.holes if hole.kind != HOME]
    return [
        WrittenHole(hole, chosen.formula)
        if hole.kind in SCAN_KINDS or not chosen.constants
        else FilledHole(hole, chosen.constants)
        for hole, chosen in zip(solution.sketch.holes, functions, strict=True)
    ]


def hole_values(solution: Solution) -> dict[str, HoleValues]:
    """Run the sketch with its holes answered, and keep what each was asked and what it said."""
    program, fillings = solution.sketch, fillings_of(solution)
    if program is None or not fillings:
        return {}
    asked: list[list[npt.NDArray[np.int64]]] = [[] for _ in fillings]

    def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
        lanes = [a for a in args if isinstance(a, np.ndarray)]
        assert len(lanes) == len(args) and isinstance(mask, np.ndarray), "an answered hole is asked with numbers"
        asked[number].append(np.unique(np.stack(lanes, axis=1)[mask], axis=0))
        return np.broadcast_to(np.asarray(fillings[number].apply(lanes)), mask.shape)

    run_canonical(program, Terms(), hole)
    found = {}
    for filling, some in zip(fillings, asked, strict=True):
        arity = len(filling.hole.arguments)
        points = np.unique(np.concatenate([np.empty((0, arity), np.int64), *some]), axis=0)
        kind = np.bool_ if kind_of(filling.hole).gives is DType.BOOL else np.int64
        applied = np.asarray(filling.apply(list(points.T)))
        values: npt.NDArray[Any] = np.broadcast_to(applied, len(points)).astype(kind)
        found[filling.hole.name] = HoleValues(filling.hole.arguments, points, values)
    return found


def misprinted(solution: Solution) -> set[str]:
    """Return the names of the holes whose formulas are not what their constants say, somewhere where they are asked."""
    found = set()
    for filling, (name, asked), became in zip(
        fillings_of(solution), hole_values(solution).items(), solution.holes, strict=True
    ):
        if isinstance(filling, WrittenHole):
            continue
        formula = formula_again(filling.hole, became.constants, became.formula)
        if not np.array_equal(
            np.broadcast_to(values_of(formula, list(asked.points.T)), len(asked.points)), asked.values
        ):
            found.add(name)
    return found
