"""`?sw_cond(v, ...)` as two conditions that both hold, or of which one holds: the border of a tile needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from symbolic.errors import Place
from symbolic.ir.program import Expr, Logic
from templates.chooser import Choice, Chooser, ColumnChooser
from templates.cond import CONSTANTS, Cond, CondChoice
from templates.template import Point, Template, TemplateFamily, integers

T = TypeVar("T")
MOST: Final = 700  # different conditions, of which two are taken
LARGE: Final = 200_000  # points, times the largest argument: beyond it there is no such template


class Both(Template):
    """`c and c'`, or `c or c'`: conditions of `templates/cond.py`, told apart by what they are at the points.

    They are comparisons by `<=` and its like, and those by `==` too where these are few.
    """

    def __init__(self, arity: int, points: Sequence[Point], conditions: Sequence[CondChoice]) -> None:
        self.single = Cond(arity, (), "3")
        self.components = (tuple(conditions), tuple(conditions), ("and", "or"))

    def at(self, chooser: Chooser[T], point: Point) -> T:
        first, second = (chooser.pick(place, lambda one: bool(one.holds(point))) for place in (0, 1))
        held = chooser.both(lambda a, b: a + b, first, second)
        return chooser.both(lambda held, word: held > (word == "and"), held, chooser.pick(2, lambda word: word))

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        first, second, word = choice
        held = first.holds(arguments), second.holds(arguments)
        return np.logical_and(*held) if word == "and" else np.logical_or(*held)

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        first, second, word = choice
        long = first.weight[0] + second.weight[0]
        return (long, sorted((first.weight, second.weight)), word, first.weight)

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        first, second, word = choice
        found = {"both": 1, "or": int(word == "or")}
        for place, one in enumerate((first, second)):
            own = self.single.constants(_parts(one))
            found |= {f"{name}_{place}": value for name, value in own.items()}
        return found

    def parse(self, constants: Mapping[str, object]) -> Choice:
        (word,) = integers(constants, ("or",))
        some = [self.single.parsed(constants, [f"{name}_{place}" for name in CONSTANTS]) for place in (0, 1)]
        return (*map(self.single.named, some), "or" if word else "and")

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        first, second, word = choice
        left, right = (self.single.expression(_parts(one), arguments, place) for one in (first, second))
        return Logic(word, left, right, place)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        first, second, word = choice
        return f"keep when {f' {word} '.join(self.single.when(_parts(one), names) for one in (first, second))}"


def _parts(one: CondChoice) -> Choice:
    return (one.left, one.sign, one.right), (one.relation, one.negated), one.threshold


def make(size: int, arity: int, points: tuple[Point, ...], space: str) -> Both | None:
    """Return the template; where too many conditions differ there is none."""
    if not points or not points[0] or len(points) * (1 + max(abs(v) for point in points for v in point)) > LARGE:
        return None
    every = Cond(arity, points, "3")
    rows = ColumnChooser.everything(every.components)
    held = np.stack([np.array(c.values)[c.codes] for c in (every.at(rows, point) for point in points)])
    varied = np.flatnonzero(held.any(axis=0) & ~held.all(axis=0)).tolist()
    lines = [line.tobytes() for line in np.packbits(held, axis=0).T]
    for relations in (("<=", "=="), ("<=",)):
        found: dict[bytes, CondChoice] = {}
        for row in varied:
            one, line = every.named(rows.choice(row)), lines[row]
            if one.relation in relations and (line not in found or one.weight < found[line].weight):
                found[line] = one
        if len(found) <= MOST:
            some = sorted(found.values(), key=lambda one: one.weight)
            return Both(arity, points, some) if len(some) > 1 else None
    return None


def saved(size: int, arity: int, points: tuple[Point, ...]) -> Both:
    """Return a template that reads constants from a file."""
    return Both(arity, (), [])


FAMILY = TemplateFamily("both", "cond", make, saved=saved)
